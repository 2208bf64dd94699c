// SPDX-License-Identifier: Apache-2.0
// What an instruction does, of the rows that the generator makes of `sem` lines.
#include "sassdec/effects.h"

#include <cstring>

#include "tables.hpp"
#include "text.hpp"

using namespace sassdec::tables;

namespace {
constexpr std::size_t operand_columns = offsetof(sassdec_effect, address);  // these come last
}

extern "C" {

void sassdec_effects(const sassdec_insn* insn, sassdec_effect* effect) {
    if (!effect) return;
    if (!insn || insn->status != SASSDEC_OK) {
        *effect = {};
        std::memset(reinterpret_cast<char*>(effect) + operand_columns, SASSDEC_NO_OPERAND,
                    sizeof *effect - operand_columns);
        return;
    }
    const EffectRow& row = effects[forms[insn->form].effect];
    *effect = row.constant;
    for (unsigned i = 0; i < row.count; ++i) {
        const EffectColumnRow& c = effect_columns[row.columns + i];
        reinterpret_cast<std::uint8_t*>(effect)[c.column] =
            effect_values[c.values + insn->field[c.field]];
    }
}

const char* sassdec_semantic(const sassdec_insn* insn, const char* key) {
    if (!key) return "";
    sassdec_effect effect;
    sassdec_effects(insn, &effect);
    for (const ColumnNameRow* c = column_names; c->name; ++c)
        if (c->words && !std::strcmp(c->name, key))
            return c->words[reinterpret_cast<const std::uint8_t*>(&effect)[c->column]];
    return "";
}

int sassdec_format_effects(const sassdec_insn* insn, char* out, size_t size) {
    if (!out) return -1;
    sassdec_effect effect;
    sassdec_effects(insn, &effect);
    sassdec::Text t(out, size);
    t.put(kind_words[effect.kind]);
    if (effect.action) {
        t.put('.');
        t.put(action_words[effect.action]);
    }
    for (const ColumnNameRow* c = column_names; c->name; ++c) {
        const std::uint8_t v = reinterpret_cast<const std::uint8_t*>(&effect)[c->column];
        const bool operand = c->column >= operand_columns;
        // DATA is the first of the caches, and no empty word.
        const bool cache = c->column == offsetof(sassdec_effect, cache);
        if (cache ? effect.kind != SASSDEC_KIND_CACHE : v == (operand ? SASSDEC_NO_OPERAND : 0))
            continue;
        t.put(' ');
        t.put(c->name);
        t.put('=');
        if (c->words)
            t.put(c->words[v]);
        else if (operand)
            t.put(sassdec_operand_name(insn, v));
        else
            t.dec(v);
    }
    return t.finish();
}

}  // extern "C"
