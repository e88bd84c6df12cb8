# SPDX-License-Identifier: Apache-2.0
#
# broker/help/COMMAND.md is what `sluice COMMAND --help` says beside the options: a heading with the
# summary, prose (which may be absent), and the examples.  The program carries their bytes.  {{NAME}} in
# the prose stands for help/parts/NAME.md, which several pages share.
#
# A command without a page, a page without a command and a malformed page stop the build.
# tests/tools/help runs this file as a script: cmake -D HELP=FOLDER -D COMMANDS=FILE -D OUT=FILE -P.
cmake_policy(VERSION 3.25)

# The rows of SLUICE_COMMANDS in commands.h, as a list of names.
function(help_command_names header ret_names)
    file(READ ${header} text)
    string(REGEX MATCHALL "\n    COMMAND\\([a-z_]+" rows "${text}")
    list(TRANSFORM rows REPLACE "\n    COMMAND\\(" "")
    if(NOT rows)
        message(FATAL_ERROR "${header}: names no command; a row is \"    COMMAND(name, ...\"")
    endif()
    set(${ret_names} ${rows} PARENT_SCOPE)
endfunction()

function(help_check_files folder names)
    foreach(name ${names})
        if(NOT EXISTS ${folder}/${name}.md)
            message(FATAL_ERROR "${folder}/${name}.md: is missing; each command of commands.h has one")
        endif()
    endforeach()
    file(GLOB paths ${folder}/*.md)
    foreach(path ${paths})
        get_filename_component(name ${path} NAME_WE)
        if(NOT name IN_LIST names)
            message(FATAL_ERROR "${path}: no command of that name is in commands.h")
        endif()
    endforeach()
endfunction()

# The prose with its {{NAME}} replaced.
function(help_fill folder path prose ret_prose)
    string(REGEX MATCHALL "{{[^}]*}}" marks "${prose}")
    foreach(mark ${marks})
        string(REGEX REPLACE "[{}]" "" part "${mark}")
        if(NOT EXISTS ${folder}/parts/${part}.md)
            message(FATAL_ERROR "${path}: ${mark}: ${folder}/parts/${part}.md is missing")
        endif()
        file(READ ${folder}/parts/${part}.md text)
        string(REGEX REPLACE "\n$" "" text "${text}")
        string(REPLACE "${mark}" "${text}" prose "${prose}")
    endforeach()
    set(${ret_prose} "${prose}" PARENT_SCOPE)
endfunction()

# A C string of the text's bytes.
function(help_string text ret_string)
    string(HEX "${text}" bytes)
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
    set(${ret_string} "\"${bytes}\"" PARENT_SCOPE)
endfunction()

# The C text of one page: what its heading, its prose and its examples say.
function(help_page folder name ret_code)
    set(path ${folder}/${name}.md)
    file(READ ${path} page)
    if(NOT page MATCHES "^# sluice ${name}: ([^\n]*[^.\n])\n\n")
        message(FATAL_ERROR "${path}:1: is not \"# sluice ${name}: SUMMARY\", without a full stop, and a blank line")
    endif()
    set(summary "${CMAKE_MATCH_1}")
    string(LENGTH "${CMAKE_MATCH_0}" head)
    string(SUBSTRING "${page}" ${head} -1 page)
    string(FIND "${page}" "## Examples\n\n```\n" at)
    if(at LESS 0 OR NOT page MATCHES "\n```\n$")
        message(FATAL_ERROR "${path}: does not end with \"## Examples\", a blank line and a block of lines between \"```\"")
    endif()
    string(SUBSTRING "${page}" 0 ${at} prose)
    string(SUBSTRING "${page}" ${at} -1 examples)
    string(REGEX REPLACE "^## Examples\n\n```\n" "" examples "${examples}")
    string(REGEX REPLACE "```\n$" "" examples "${examples}")
    if(NOT examples OR examples MATCHES "```")
        message(FATAL_ERROR "${path}: \"## Examples\" is not one block of lines")
    endif()
    if(prose AND NOT prose MATCHES "[^\n]\n\n$")
        message(FATAL_ERROR "${path}: one blank line has to stand before \"## Examples\"")
    endif()
    string(REGEX REPLACE "\n\n$" "\n" prose "${prose}")
    help_fill("${folder}" "${path}" "${prose}" prose)
    help_string("${summary}" summary)
    help_string("${prose}" prose)
    help_string("${examples}" examples)
    set(${ret_code} "const struct command_help ${name}_help = {\n    ${summary},\n    ${prose},\n    ${examples},\n};\n" PARENT_SCOPE)
endfunction()

function(help_write folder header out)
    help_command_names(${header} names)
    help_check_files("${folder}" "${names}")
    set(code "/* Made by cmake/help.cmake from broker/help. */\n#include \"broker/terminal/commands.h\"\n\n")
    foreach(name ${names})
        help_page("${folder}" ${name} page)
        string(APPEND code "${page}")
    endforeach()
    file(CONFIGURE OUTPUT ${out} @ONLY CONTENT "@code@")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    help_write(${HELP} ${COMMANDS} ${OUT})
    return()
endif()

file(GLOB_RECURSE help_paths CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/broker/help/*.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${help_paths}
             ${CMAKE_SOURCE_DIR}/broker/terminal/commands.h)
help_write(${CMAKE_SOURCE_DIR}/broker/help ${CMAKE_SOURCE_DIR}/broker/terminal/commands.h
           ${CMAKE_BINARY_DIR}/help_pages.c)
target_sources(commands PRIVATE ${CMAKE_BINARY_DIR}/help_pages.c)
