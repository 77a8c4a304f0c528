# The cloud host verbs on a cloud in memory and hosts that are folders.
siteagent_add_test(test_cloud_hosts
  SOURCES cloud_host_rig.cpp cloud_host_create_test.cpp cloud_host_create_undo_test.cpp cloud_host_gate_test.cpp
    cloud_host_judge_test.cpp cloud_host_list_test.cpp cloud_host_reap_test.cpp cloud_host_remove_test.cpp cloud_host_schema_test.cpp progress_test.cpp
  LIBS siteagent_test_machine siteagent_stado siteagent_fleet)
target_compile_definitions(test_cloud_hosts PRIVATE
  SITEAGENT_SCHEMA_DIR="${PROJECT_SOURCE_DIR}/packaging/schema")

# The program itself with the null provider's plugin and real sshds.
siteagent_add_test(test_stado_site
  SOURCES stado_site.cpp stado_site_test.cpp
  LIBS siteagent_test_machine siteagent_fleet)
target_compile_definitions(test_stado_site PRIVATE
  SITEAGENT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
  SITEAGENT_PLUGIN_DIR="${CMAKE_BINARY_DIR}/plugins"
  SITEAGENT_SCHEMA_DIR="${PROJECT_SOURCE_DIR}/packaging/schema")
add_dependencies(test_stado_site stado null)
