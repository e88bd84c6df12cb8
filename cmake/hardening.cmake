# SPDX-License-Identifier: Apache-2.0
#
# What a release has against mistakes that we do not know of yet: each flag where the compiler takes
# it (clang 14 refuses two of them).  tests/checks/check_hardening looks for each in a binary.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

# Bounds of copies: level 3 also where the size is known at run time only.
set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_c_source_compiles("
#include <string.h>
#if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < 3
#error level 3 is not known here
#endif
int main(void) { return 0; }" SLUICE_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
if(SLUICE_HAS_FORTIFY_3)
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
else()
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

# Jumps and returns that go where none should; stacks that grow over their guard page; locals that
# were never set.
foreach(flag -fcf-protection=full -fstack-clash-protection -ftrivial-auto-var-init=zero)
    string(TOUPPER "SLUICE_HAS${flag}" name)
    string(REGEX REPLACE "[^A-Z]+" "_" name ${name})
    set(CMAKE_REQUIRED_FLAGS -Werror)
    check_c_compiler_flag(${flag} ${name})
    unset(CMAKE_REQUIRED_FLAGS)
    if(${name})
        add_compile_options(${flag})
    endif()
endforeach()
