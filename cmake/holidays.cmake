# SPDX-License-Identifier: Apache-2.0
#
# windows/holidays/COUNTRY are plain files that people edit; the program carries their bytes, so that
# it finds them wherever it is installed.
file(GLOB holiday_paths CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/windows/holidays/*)
foreach(path ${holiday_paths})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(country ${path} NAME)
    file(READ ${path} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND holiday_arrays "static const unsigned char bytes_${country}[] = { ${bytes} };\n")
    string(APPEND holiday_rows "    { \"${country}\", bytes_${country}, sizeof bytes_${country} },\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/holiday_files.c @ONLY CONTENT
"#include \"windows/calendar/holidays.h\"

@holiday_arrays@
const struct holiday_file holiday_files[] = {
@holiday_rows@    { 0 },
};
")
target_sources(calendar PRIVATE ${CMAKE_BINARY_DIR}/holiday_files.c)
