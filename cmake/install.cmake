# SPDX-License-Identifier: Apache-2.0
#
# cmake --install: the two programs, manual pages, completions for shells, the pages of the project
# and what they name (clusters/role.yaml, policies, alerts, the dashboard), units for systemd.  The
# target `pages` makes what is not in the tree, with a program of our own: options stand in tables of
# C, and only part of a help page is Markdown.
include(GNUInstallDirs)

add_executable(sluice-pages EXCLUDE_FROM_ALL
               tools/packaging/pages/main.c tools/packaging/pages/man_page.c
               tools/packaging/pages/completion.c tools/packaging/pages/completion_bash.c
               tools/packaging/pages/completion_fish.c tools/packaging/pages/completion_zsh.c)
target_link_libraries(sluice-pages PRIVATE commands)

# The day of the build, or of SOURCE_DATE_EPOCH: two builds of one release have the same bytes.
string(TIMESTAMP pages_date "%Y-%m-%d" UTC)
set(pages_folder ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages_folder}/completion/sluice
                   COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages_folder}
                   COMMAND sluice-pages ${pages_folder} ${PROJECT_VERSION} ${pages_date}
                   DEPENDS sluice-pages COMMENT "manual pages and completions" VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages_folder}/completion/sluice)

install(TARGETS sluice sluice-simulator RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${pages_folder}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${pages_folder}/completion/sluice
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages_folder}/completion/_sluice
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${pages_folder}/completion/sluice.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# The pages keep their folders, so that a link from one to another works where they are installed.
file(GLOB root_pages CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} *.md)
file(GLOB_RECURSE install_pages CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     docs/*.md broker/*.md providers/*.md clusters/*.md windows/*.md tools/*.md)
list(FILTER install_pages EXCLUDE REGEX "^broker/help/")
foreach(page ${root_pages} ${install_pages} LICENSE)
    get_filename_component(folder ${page} DIRECTORY)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
install(FILES clusters/role.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}/clusters)
install(DIRECTORY docs/schemas DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY tools/policies DESTINATION ${CMAKE_INSTALL_DOCDIR}/tools)
install(FILES tools/packaging/prometheus/rules.yaml tools/packaging/prometheus/prometheus.yaml
              tools/packaging/prometheus/alertmanager.yaml tools/packaging/prometheus/kubernetes.yaml
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/tools/packaging/prometheus)
install(FILES tools/packaging/grafana/sluice.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/tools/packaging/grafana)

# The units name the programs by their whole path, which is known when they are installed.
install(CODE "set(units ${CMAKE_SOURCE_DIR}/tools/packaging/systemd)")
install(CODE [[
    set(to $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
    foreach(unit sluice.service sluice-apply.service sluice-apply.timer)
        file(READ ${units}/${unit} text)
        string(REPLACE "/usr/bin/sluice" "${CMAKE_INSTALL_PREFIX}/bin/sluice" text "${text}")
        message(STATUS "Installing: ${to}/${unit}")
        file(WRITE ${to}/${unit} "${text}")
    endforeach()
]])
