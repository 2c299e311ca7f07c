/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/*
 * What a public symbol looks like, and the version. The other headers include this one; it declares
 * no function.
 */
#ifndef FIRN_EXPORT_H
#define FIRN_EXPORT_H

#define FIRN_VERSION_MAJOR 0
#define FIRN_VERSION_MINOR 1
#define FIRN_VERSION_PATCH 0
#define FIRN_VERSION       "0.1.0"

#if defined(__GNUC__)
#define FIRN_API __attribute__((visibility("default")))
#else
#define FIRN_API
#endif

#endif
