# Tests of azure-emulator. Recordings of the real service are read from the shared folder, if any.
set(SITEAGENT_SHARED_DIR "${CMAKE_SOURCE_DIR}/../shared" CACHE PATH
  "Folder with specs/azure/recordings, for the replay tests")

# What the real service publishes about its answers, for every test that receives some.
add_library(siteagent_azure_contract STATIC azure_contract.cpp)
target_link_libraries(siteagent_azure_contract PUBLIC siteagent_base siteagent_settings)
target_compile_definitions(siteagent_azure_contract PUBLIC
  SITEAGENT_SHARED_DIR="${SITEAGENT_SHARED_DIR}")

siteagent_add_test(test_emulator_azure
  SOURCES azure_login_test.cpp azure_groups_test.cpp azure_network_test.cpp azure_machine_test.cpp
    azure_machine_change_test.cpp azure_power_test.cpp azure_operations_test.cpp azure_offers_test.cpp
    azure_seed_test.cpp azure_control_test.cpp azure_prices_test.cpp
    azure_replay_test.cpp azure_models_test.cpp
  LIBS siteagent_azure_emulator siteagent_azure_contract)
