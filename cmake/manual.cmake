# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

# The manual pages and the completions, made from the same text as --help and from the headers, and
# their installation. The command prints its own, so a cross build goes without; the library's pages
# need python3.

set(man_dir "${PROJECT_BINARY_DIR}/man")
set(completion_dir "${PROJECT_BINARY_DIR}/completions")
set(manual_files "")

# Adds a file that the command prints: firn_printed(file arguments…)
function(firn_printed file)
    get_filename_component(folder "${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(
        OUTPUT "${file}"
        COMMAND firn-cli ${ARGN} > "${file}"
        DEPENDS firn-cli
        VERBATIM
    )
    set(manual_files ${manual_files} "${file}" PARENT_SCOPE)
endfunction()

if(TARGET firn-cli AND NOT CMAKE_CROSSCOMPILING)
    firn_printed("${man_dir}/man1/firn.1" help --man)
    firn_printed("${completion_dir}/firn" completion bash)
    firn_printed("${completion_dir}/_firn" completion zsh)
    install(FILES "${man_dir}/man1/firn.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT runtime)
    install(FILES "${completion_dir}/firn"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        COMPONENT runtime
    )
    install(FILES "${completion_dir}/_firn"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
        COMPONENT runtime
    )
endif()

find_program(FIRN_PYTHON python3 HINTS /usr/bin NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH)
if(FIRN_PYTHON AND FIRN_REGISTRY)
    list(TRANSFORM public_headers PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE header_paths)
    add_custom_command(
        OUTPUT "${man_dir}/man3/libfirn.3"
        COMMAND "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1
                "${FIRN_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/manpages.py"
                --headers "${PROJECT_SOURCE_DIR}/include/firn" --out "${man_dir}/man3"
        DEPENDS tools/manpages.py tools/headers.py ${header_paths}
        VERBATIM
    )
    list(APPEND manual_files "${man_dir}/man3/libfirn.3")
    install(DIRECTORY "${man_dir}/man3" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT development)
endif()

add_custom_target(firn_manual ALL DEPENDS ${manual_files})
