# The fault matrix: one program, one pair of emulators per thread, one summary line.
add_executable(test_matrix
  matrix_main.cpp matrix_cells.cpp matrix_faults.cpp matrix_record.cpp matrix_rig.cpp
  matrix_judge.cpp
  process.cpp site.cpp)
target_link_libraries(test_matrix PRIVATE siteagent_settings siteagent_net_client GTest::gtest)
target_compile_definitions(test_matrix PRIVATE
  SITEAGENT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
  SITEAGENT_PLUGIN_DIR="${CMAKE_BINARY_DIR}/plugins")
add_dependencies(test_matrix waldur-site-agent azure-emulator waldur-emulator azure)
add_test(NAME integration.matrix COMMAND test_matrix --gtest_brief=1)
set_tests_properties(integration.matrix PROPERTIES
  TIMEOUT 5400 LABELS "integration;matrix" PROCESSORS 2)
