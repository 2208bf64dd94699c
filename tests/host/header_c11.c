/* SPDX-License-Identifier: Apache-2.0 */
/* The header alone in C11. */
#include <sassemu_host/host.h>

int host_header_in_c(void) { return sassemu_host_attach("unix:/nowhere", 0, 0); }
