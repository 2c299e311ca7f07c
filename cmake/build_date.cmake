# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

# Sets firn_build_date_s, the date that a plausible clock is not before, in Unix seconds:
# SOURCE_DATE_EPOCH; else the time of this tree's last commit; else a day before now. The commit's
# time gives way to an earlier clock here, so that a machine can always run what it built itself.

function(firn_commit_date_find out)
    set(${out} "" PARENT_SCOPE)
    # A tree unpacked inside somebody else's repository has no .git of its own: that commit is not ours.
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/.git")
        return()
    endif()
    find_program(FIRN_GIT git)
    mark_as_advanced(FIRN_GIT)
    if(NOT FIRN_GIT)
        return()
    endif()
    execute_process(
        COMMAND "${FIRN_GIT}" log -1 --format=%ct
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        OUTPUT_VARIABLE date
        ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE
    )
    if(date MATCHES "^[0-9]+$")
        set(${out} "${date}" PARENT_SCOPE)
    endif()
endfunction()

if("$ENV{SOURCE_DATE_EPOCH}" MATCHES "^[0-9]+$")
    set(firn_build_date_s "$ENV{SOURCE_DATE_EPOCH}")
else()
    string(TIMESTAMP now_s "%s" UTC)
    firn_commit_date_find(firn_build_date_s)
    if(firn_build_date_s STREQUAL "" OR firn_build_date_s GREATER now_s)
        math(EXPR firn_build_date_s "${now_s} - 86400")
    endif()
endif()
