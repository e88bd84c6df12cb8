# SPDX-License-Identifier: Apache-2.0
#
# The program carries the bytes of providers/ssh/machine.sh: own_script.
set(machine_script ${CMAKE_SOURCE_DIR}/providers/ssh/machine.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${machine_script})
file(READ ${machine_script} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${CMAKE_BINARY_DIR}/machine_script.c.new
     "#include \"providers/ssh/own_script.h\"\nconst char own_script[] = {${bytes}0};\n")
file(COPY_FILE ${CMAKE_BINARY_DIR}/machine_script.c.new ${CMAKE_BINARY_DIR}/machine_script.c ONLY_IF_DIFFERENT)
target_sources(ssh_machines PRIVATE ${CMAKE_BINARY_DIR}/machine_script.c)
