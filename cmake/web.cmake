# SPDX-License-Identifier: Apache-2.0
#
# broker/web: the files of the web page, whose bytes the program carries.
file(GLOB web_paths CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/broker/web/*.html ${CMAKE_SOURCE_DIR}/broker/web/*.css
     ${CMAKE_SOURCE_DIR}/broker/web/*.js ${CMAKE_SOURCE_DIR}/broker/web/*.svg)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web_paths})
set(web_code "/* Made by cmake/web.cmake from broker/web. */\n#include \"broker/api/page.h\"\n\nconst struct page_file page_files[] = {\n")
foreach(path ${web_paths})
    get_filename_component(name ${path} NAME)
    file(READ ${path} bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
    string(APPEND web_code "    { \"${name}\", \"${bytes}\", ${size} },\n")
endforeach()
string(APPEND web_code "    { 0 },\n};\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/page_files.c @ONLY CONTENT "@web_code@")
target_sources(api PRIVATE ${CMAKE_BINARY_DIR}/page_files.c)
