/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that is no plugin. */
int nobody_calls_this(void);
int nobody_calls_this(void) { return 0; }
