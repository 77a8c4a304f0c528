# Tests of azure-emulator. Recordings of the real service are read from the shared folder, if any.
set(SITEAGENT_SHARED_DIR "${CMAKE_SOURCE_DIR}/../shared" CACHE PATH
  "Folder with specs/azure/recordings, for the replay tests")

siteagent_add_test(test_emulator_azure
  SOURCES azure_login_test.cpp azure_groups_test.cpp azure_network_test.cpp azure_machine_test.cpp
    azure_machine_change_test.cpp azure_power_test.cpp azure_operations_test.cpp azure_offers_test.cpp
    azure_seed_test.cpp azure_control_test.cpp
    azure_replay_test.cpp azure_models_test.cpp
  LIBS siteagent_azure_emulator)
target_compile_definitions(test_emulator_azure PRIVATE
  SITEAGENT_SHARED_DIR="${SITEAGENT_SHARED_DIR}")
