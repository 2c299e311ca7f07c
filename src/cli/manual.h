/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* The man page firn(1), made from the tables that also make the help. */
#ifndef FIRN_CLI_MANUAL_H
#define FIRN_CLI_MANUAL_H

/* Prints it in mdoc. */
void manual_print(void);

#endif
