#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

# Compiles each public header alone, as the first and only thing in a file: as C99, C11 and C++11,
# with warnings as errors. Arguments: the include folder, a C compiler, a C++ compiler.
set -euo pipefail

include=$1
cc=$2
cxx=$3
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wcast-qual -Werror)
failed=0
count=0

alone() {
    local header=$1 compiler=$2 language=$3 standard=$4
    # The declaration is for export.h: ISO C wants at least one in a file.
    if ! printf '#include "firn/%s"\nextern int alone;\n' "$header" |
        "$compiler" -x "$language" -std="$standard" "${warnings[@]}" -I"$include" -fsyntax-only -; then
        printf 'firn/%s does not compile alone as %s\n' "$header" "$standard"
        failed=1
    fi
    count=$((count + 1))
}

for path in "$include"/firn/*.h; do
    header=$(basename "$path")
    alone "$header" "$cc" c c99
    alone "$header" "$cc" c c11
    alone "$header" "$cxx" c++ c++11
done

if [ "$count" -lt 21 ]; then
    printf 'only %d compilations: headers are missing from %s\n' "$count" "$include"
    failed=1
fi
exit "$failed"
