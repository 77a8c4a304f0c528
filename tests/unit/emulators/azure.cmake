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
    azure_network_asg_test.cpp azure_network_rules_test.cpp azure_machine_rules_test.cpp
    azure_operations_busy_test.cpp azure_power_happenings_test.cpp azure_seed_site_test.cpp azure_seed_test.cpp azure_control_test.cpp azure_prices_test.cpp azure_billing_test.cpp azure_graph_test.cpp azure_deployments_test.cpp
    azure_ssh_keys_test.cpp azure_availability_test.cpp azure_replay_test.cpp azure_models_test.cpp
  LIBS siteagent_azure_emulator siteagent_azure_contract)

siteagent_add_test(test_emulator_azure_login
  SOURCES azure_login_proof_test.cpp azure_login_documents_test.cpp ../azure/credential_keys.cpp
  LIBS siteagent_azure_emulator siteagent_azure_contract OpenSSL::Crypto)

siteagent_add_test(test_emulator_azure_state
  SOURCES azure_state_test.cpp azure_state_kill_test.cpp
  LIBS siteagent_azure_emulator siteagent_azure_contract)
target_compile_definitions(test_emulator_azure_state PRIVATE
  AZURE_EMULATOR="$<TARGET_FILE:azure-emulator>")
add_dependencies(test_emulator_azure_state azure-emulator)
