/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* A realm, for people and as JSON. */
#ifndef FIRN_CLI_REALM_H
#define FIRN_CLI_REALM_H

#include "cli/json.h"
#include "firn/registry.h"

#define REALM_UUID_SIZE 37

char *realm_uuid(const firn_realm *realm, char *buf);
void realm_print(const firn_realm *realm, const char *url);
void realm_json(struct json *json, const firn_realm *realm, const char *url);

#endif
