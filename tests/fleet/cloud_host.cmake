# The cloud host verbs on a cloud in memory and hosts that are folders.
siteagent_add_test(test_cloud_hosts
  SOURCES cloud_host_rig.cpp cloud_host_create_test.cpp
  LIBS siteagent_test_machine siteagent_stado siteagent_fleet)
