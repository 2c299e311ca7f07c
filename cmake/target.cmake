# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

# How every C target of this tree is compiled: the language and the warnings. Optimisation and
# sanitizers are the presets' business.

set(firn_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wstrict-prototypes
    -Wmissing-prototypes
    -Wcast-qual
    -Wcast-align
    -Wformat=2
    -Wundef
    -Wvla
    -Wwrite-strings
    -Wpointer-arith
    -Wdouble-promotion
    -Wimplicit-fallthrough
    -Wnull-dereference
)

function(firn_target_defaults target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden
    )
    # The port layer's headers want Linux's clocks and calls, which -std=c11 alone hides.
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
        target_compile_options(${target} PRIVATE ${firn_warnings} $<$<BOOL:${FIRN_WERROR}>:-Werror>)
    endif()
endfunction()

# Tests look inside the library, and their assert()s count in every build type.
function(firn_test_defaults target)
    firn_target_defaults(${target})
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}/include"
        "${PROJECT_SOURCE_DIR}/src"
        "${CMAKE_CURRENT_SOURCE_DIR}"
    )
    target_compile_options(${target} PRIVATE -UNDEBUG)
endfunction()

# Drops the sources that use the registry from a list, when there is none.
function(firn_sources_keep_buildable list)
    set(kept "")
    foreach(source IN LISTS ${list})
        file(STRINGS "${source}" uses_registry REGEX "^#include \"(registry/|firn/(firn|registry)\\.h)")
        if(FIRN_REGISTRY OR NOT uses_registry)
            list(APPEND kept "${source}")
        endif()
    endforeach()
    set(${list} "${kept}" PARENT_SCOPE)
endfunction()
