# A room is a folder of src/ and one static library. Its DEPS are the only rooms it may see:
# the link sets are the first of the two fences around the layers (tools/lint is the second).
function(sluice_room name)
    cmake_parse_arguments(ROOM "" "FOLDER" "DEPS;LIBS" ${ARGN})
    if(NOT ROOM_FOLDER)
        set(ROOM_FOLDER ${name})
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_FOLDER}/*.cpp)
    list(TRANSFORM ROOM_DEPS PREPEND sluice_)
    if(sources)
        add_library(sluice_${name} STATIC ${sources})
        target_link_libraries(sluice_${name} PUBLIC sluice_options ${ROOM_DEPS} ${ROOM_LIBS})
    else()
        add_library(sluice_${name} INTERFACE)
        target_link_libraries(sluice_${name} INTERFACE sluice_options ${ROOM_DEPS} ${ROOM_LIBS})
    endif()
endfunction()

# Every *_test.cpp below FOLDER becomes one GoogleTest program, one ctest entry a program.
function(sluice_test name)
    cmake_parse_arguments(TEST "" "FOLDER;TIMEOUT" "DEPS;LIBS;ARGS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${TEST_FOLDER}/*.cpp)
    if(NOT sources)
        return()
    endif()
    if(NOT TEST_TIMEOUT)
        set(TEST_TIMEOUT 120)
    endif()
    list(TRANSFORM TEST_DEPS PREPEND sluice_)
    add_executable(test_${name} ${sources})
    target_link_libraries(test_${name} PRIVATE sluice_options ${TEST_DEPS} ${TEST_LIBS}
        GTest::gtest GTest::gtest_main)
    target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(test_${name} PRIVATE
        SLUICE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
        SLUICE_SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared/data")
    add_test(NAME ${name} COMMAND test_${name} ${TEST_ARGS})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT})
endfunction()
