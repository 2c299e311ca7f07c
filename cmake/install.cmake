# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The firn authors

# What `cmake --install` puts where: headers, libraries, firn.pc, the CMake package and the command. The
# manual pages and completions are made, and installed, in manual.cmake.

include(CMakePackageConfigHelpers)

set(public_headers
    include/firn/codec.h
    include/firn/export.h
    include/firn/generator.h
    include/firn/layout.h
    include/firn/status.h
    include/firn/time.h
)
if(FIRN_REGISTRY)
    list(APPEND public_headers include/firn/firn.h include/firn/registry.h)
endif()
install(FILES ${public_headers}
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/firn"
    COMPONENT development
)

# The two libraries are exported apart: only the static one needs what firn itself links to.
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/firn")
foreach(kind IN ITEMS shared static)
    if(TARGET firn_${kind})
        install(TARGETS firn_${kind} EXPORT firn-${kind}
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                COMPONENT runtime NAMELINK_COMPONENT development
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
        )
        install(EXPORT firn-${kind}
            FILE firn-${kind}.cmake
            NAMESPACE firn::
            DESTINATION "${package_dir}"
            COMPONENT development
        )
    endif()
endforeach()

configure_package_config_file(cmake/firnConfig.cmake.in "${PROJECT_BINARY_DIR}/firnConfig.cmake"
    INSTALL_DESTINATION "${package_dir}"
    NO_SET_AND_CHECK_MACRO
)
# Before 1.0 a new minor version may break what used the last.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/firnConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion
)
install(
    FILES "${PROJECT_BINARY_DIR}/firnConfig.cmake" "${PROJECT_BINARY_DIR}/firnConfigVersion.cmake"
    DESTINATION "${package_dir}"
    COMPONENT development
)

# Without a shared library everybody links statically, also those who do not say --static.
if(FIRN_SHARED)
    set(pc_private ".private")
else()
    set(pc_private "")
endif()
set(pc_libs "-L\${libdir} -lfirn")
set(pc_lines "")
if(FIRN_SQLITE)
    string(APPEND pc_lines "\nRequires${pc_private}: sqlite3 >= 3.34")
endif()
if(FIRN_REGISTRY AND FIRN_SHARED)
    string(APPEND pc_lines "\nLibs.private: -pthread")
elseif(FIRN_REGISTRY)
    string(APPEND pc_libs " -pthread")
endif()
# The paths follow firn.pc, so that `cmake --install --prefix` needs no second configuring. Folders that
# were given as absolute stay where they are.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_up "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    set(pc_prefix "\${pcfiledir}/${pc_up}")
endif()
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_libdir "${CMAKE_INSTALL_LIBDIR}")
set(pc_includedir "\${prefix}")
cmake_path(APPEND pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/firn.pc.in "${PROJECT_BINARY_DIR}/firn.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/firn.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT development
)

if(TARGET firn-cli)
    # So that the command runs from any prefix, without ldconfig; CMAKE_SKIP_INSTALL_RPATH turns it off.
    file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    set_target_properties(firn-cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    install(TARGETS firn-cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()

# What a sanitizer instruments is not installed, and need not run while it is built.
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize|--coverage")
    include(cmake/manual.cmake)
endif()
