# One compiler decides what the project may rely on. g++ 12 miscompiles everyday coroutines
# (tests/toolchain shows the shapes), so it is refused here and not at run time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} miscompiles C++20 coroutines "
        "(see tests/toolchain): use clang 19, for instance with 'cmake --preset release'.")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
    # Paths below the source folder count as relative, so that another clone finds what this built.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${SLUICE_CCACHE})
endif()

set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers to build with, for instance address,undefined")
option(SLUICE_COVERAGE "Instrument for coverage" OFF)

add_library(sluice_options INTERFACE)
target_compile_options(sluice_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Wimplicit-fallthrough -Werror -fno-omit-frame-pointer)
target_include_directories(sluice_options INTERFACE ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(sluice_options INTERFACE SLUICE_VERSION="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_options(sluice_options INTERFACE -fuse-ld=lld)
endif()

if(SLUICE_SANITIZE)
    add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()
if(SLUICE_COVERAGE)
    add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
    add_link_options(-fprofile-instr-generate)
endif()
