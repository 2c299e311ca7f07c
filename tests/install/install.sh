#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

# Installs firn into a temporary prefix and uses it as a stranger would. The one argument is the way:
# prefix (what the others use), pkgconfig, findpackage, fetchcontent, core. The environment, set by
# CMakeLists.txt, says where things are; WORK_DIR is emptied first.
set -euo pipefail

consumer=$FIRN_SOURCE_DIR/tests/install/consumer
warnings=(-Wall -Wextra -Wpedantic -Werror)

fail() {
    printf 'install: %s\n' "$*" >&2
    exit 1
}

# Where an installed firn.pc lies, whatever the library folder is called here.
pkgconfig_dir() {
    dirname "$(find "$1" -name firn.pc)"
}

configure() {
    local source=$1 build=$2
    shift 2
    "$CMAKE" -S "$source" -B "$build" -G Ninja -D CMAKE_C_COMPILER="$CC" -D CMAKE_CXX_COMPILER="$CXX" "$@" \
        >"$build.log" 2>&1
}

configure_or_fail() {
    configure "$@" || {
        cat "$2.log"
        fail "configuring $2 failed"
    }
}

build_and_run() {
    "$CMAKE" --build "$1" -j 2
    (cd "$1" && ctest --output-on-failure --no-tests=error)
}

# The three languages, by hand, with the flags that pkg-config gives.
compile_and_run() {
    local program=$1 name=$2
    shift 2
    "$CC" -std=c99 "${warnings[@]}" "$program.c" "$@" -o "$WORK_DIR/$name-c99"
    "$CC" -std=c11 "${warnings[@]}" "$program.c" "$@" -o "$WORK_DIR/$name-c11"
    printf '#include "%s"\n' "$program.c" >"$WORK_DIR/$name.cpp"
    "$CXX" -std=c++11 "${warnings[@]}" "$WORK_DIR/$name.cpp" "$@" -o "$WORK_DIR/$name-cxx11"
    local standard
    for standard in c99 c11 cxx11; do
        "$WORK_DIR/$name-$standard"
    done
}

way_prefix() {
    "$CMAKE" --install "$FIRN_BUILD_DIR" --prefix "$PREFIX"
    diff <(cd "$FIRN_SOURCE_DIR/include/firn" && printf '%s\n' ./*.h) \
        <(cd "$PREFIX/include/firn" && printf '%s\n' ./*) || fail "other headers than the tree's"
    local library
    library=$(find "$PREFIX" -name libfirn.so)
    readelf -d "$library" | grep -q 'SONAME.*\[libfirn\.so\.0\]' || fail "the soname is not libfirn.so.0"
    [ -e "$(dirname "$library")/libfirn.so.0" ] || fail "there is no libfirn.so.0"
    "$PREFIX/bin/firn" --version || fail "the installed command does not run"
}

way_pkgconfig() {
    PKG_CONFIG_PATH=$(pkgconfig_dir "$PREFIX")
    export PKG_CONFIG_PATH
    local version flags
    version=$(pkg-config --modversion firn)
    grep -q "\"$version\"" "$PREFIX/include/firn/export.h" || fail "firn.pc says version $version"

    read -ra flags <<<"$(pkg-config --cflags --libs firn)"
    compile_and_run "$consumer/registry" shared "${flags[@]}" \
        "-Wl,-rpath,$(pkg-config --variable=libdir firn)"
    ldd "$WORK_DIR/shared-c99" | grep -q 'libfirn\.so\.0' || fail "the shared library is not used"

    read -ra flags <<<"$(pkg-config --static --cflags --libs firn)"
    compile_and_run "$consumer/registry" static "${flags[@]/#-lfirn/-l:libfirn.a}"
    if ldd "$WORK_DIR/static-c99" | grep -q libfirn; then
        fail "the static program needs libfirn.so"
    fi
}

way_findpackage() {
    configure_or_fail "$consumer" "$WORK_DIR/build" -D CMAKE_PREFIX_PATH="$PREFIX" -D CONSUMER=registry \
        -D CONSUMER_COMPONENTS="core;registry;sqlite;shared;static"
    build_and_run "$WORK_DIR/build"
    if configure "$consumer" "$WORK_DIR/unknown" -D CMAKE_PREFIX_PATH="$PREFIX" -D CONSUMER=registry \
        -D CONSUMER_COMPONENTS=no-such-part; then
        fail "find_package found a component that does not exist"
    fi
}

way_fetchcontent() {
    configure_or_fail "$consumer" "$WORK_DIR/build" -D CONSUMER=registry \
        -D CONSUMER_FIRN_DIR="$FIRN_SOURCE_DIR"
    build_and_run "$WORK_DIR/build"
    "$CMAKE" --install "$WORK_DIR/build" --prefix "$WORK_DIR/root"
    if [ -e "$WORK_DIR/root/include" ]; then
        fail "as a subproject firn installed itself"
    fi
}

# The core alone: nothing but libc, and no header that it lacks the functions for.
way_core() {
    local root=$WORK_DIR/root library
    configure_or_fail "$FIRN_SOURCE_DIR" "$WORK_DIR/firn" -D FIRN_REGISTRY=OFF -D FIRN_TESTS=OFF \
        -D FIRN_BENCH=OFF -D FIRN_WERROR=ON -D CMAKE_SHARED_LINKER_FLAGS=-Wl,-z,defs
    "$CMAKE" --build "$WORK_DIR/firn" -j 2
    "$CMAKE" --install "$WORK_DIR/firn" --prefix "$root"
    library=$(find "$root" -name libfirn.so)

    # With -z defs at the link, what it needs is all it uses.
    local needed
    needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
    [ "$needed" = libc.so.6 ] || fail "the core needs $needed"
    if [ -e "$root/include/firn/firn.h" ] || [ -e "$root/include/firn/registry.h" ]; then
        fail "the core installed the registry's headers"
    fi
    "$PYTHON" "$FIRN_SOURCE_DIR/tests/install/symbols.py" --headers "$root/include/firn" --shared "$library"

    PKG_CONFIG_PATH=$(pkgconfig_dir "$root")
    export PKG_CONFIG_PATH
    local flags
    read -ra flags <<<"$(pkg-config --static --cflags --libs firn)"
    compile_and_run "$consumer/core" core "${flags[@]/#-lfirn/-l:libfirn.a}"

    configure_or_fail "$consumer" "$WORK_DIR/build" -D CMAKE_PREFIX_PATH="$root" -D CONSUMER=core \
        -D CONSUMER_COMPONENTS=core
    build_and_run "$WORK_DIR/build"
    if configure "$consumer" "$WORK_DIR/registry" -D CMAKE_PREFIX_PATH="$root" -D CONSUMER=core \
        -D CONSUMER_COMPONENTS=registry; then
        fail "find_package found a registry in the core"
    fi
}

rm -rf "$WORK_DIR"
mkdir -p "$WORK_DIR"
case $1 in
prefix | pkgconfig | findpackage | fetchcontent | core) "way_$1" ;;
*) fail "no such way: $1" ;;
esac
