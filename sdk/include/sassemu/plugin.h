/* SPDX-License-Identifier: Apache-2.0 */
/* The front page of the plugin ABI (C11): what a plugin exports. See README.md beside this
 * directory for a guide, and plugin.hpp for the C++20 wrapper. What belongs here: the entry,
 * options, threading, and the list of roles. */
#ifndef SASSEMU_PLUGIN_H
#define SASSEMU_PLUGIN_H

#include <sassemu/machine.h>
#include <sassemu/model.h>
#include <sassemu/observer.h>
#include <sassemu/semantics.h>

SASSEMU_BEGIN

/* An option of the plugin: NAME:key=value,key=value on the command line. */
typedef struct sassemu_option {
    const char* key;     /* NULL ends the list */
    const char* value;   /* what it takes, for messages: "N", "lazy|eager|random" */
    const char* summary; /* one line */
} sassemu_option;
/* As given; a key that the list lacks never gets here, one that was given twice comes twice. */
typedef struct sassemu_setting {
    const char *key, *value;
} sassemu_setting;

/* Which callbacks may run at once. */
enum sassemu_threading {
    SASSEMU_SERIAL, /* none: the launch runs on one worker */
    SASSEMU_PER_SM, /* calls for CTAs of one SM never overlap */
    SASSEMU_FREE    /* calls for one CTA never overlap; else any */
};

/* What it can do beyond what 1.0 asked for (since 1.8). */
enum sassemu_plugin_flags {
    /* It follows several launches at once, of several GPUs, and what the host does meanwhile. A
     * plan that has several things in flight refuses a plugin without. */
    SASSEMU_PLUGIN_IN_FLIGHT = 1u << 0
};

struct SassemuConsistencyModel; /* consistency.h */

typedef struct sassemu_plugin {
    uint32_t size;
    uint32_t abi;                  /* SASSEMU_ABI_VERSION */
    const char* name;              /* a word */
    const char* summary;           /* one line */
    const sassemu_option* options; /* NULL: takes none */
    uint32_t threading;            /* enum sassemu_threading */
    union {
        uint32_t flags; /* since 1.8: enum sassemu_plugin_flags */
        uint32_t reserved;
    };
    /* Makes the state of one run, which every callback gets as `self` (it may be NULL only on
     * failure). On failure: NULL, with one line in `error`. `host` and `session` stay valid until
     * destroy. */
    void* (*create)(const sassemu_host*, sassemu_session, const sassemu_setting*, size_t count,
                    char* error, size_t error_bytes);
    void (*destroy)(void* self);
    /* Roles; NULL: does not have it. */
    const sassemu_memory_model* model;
    const sassemu_observer* observer;
    const sassemu_semantics* semantics;
    const struct SassemuConsistencyModel* (*consistency)(
        size_t* count);             /* as SassemuConsistencyModels there */
    const sassemu_machine* machine; /* since 1.4; looked at where `model` is NULL */
} sassemu_plugin;

#define SASSEMU_ENTRY_NAME "sassemu_plugin_entry"
typedef const sassemu_plugin* (*sassemu_entry)(void);

/* To be defined by the plugin: SASSEMU_EXPORT const sassemu_plugin *sassemu_plugin_entry(void) {
 * return &mine; } */
SASSEMU_EXPORT const sassemu_plugin* sassemu_plugin_entry(void);

SASSEMU_END

#endif
