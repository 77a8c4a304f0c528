# Compile and link rules of the whole build (see CONTRIBUTING, "Build rules").
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_ENABLE_EXPORTS OFF) # no -rdynamic: a host function must never replace a plugin's own
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(SITEAGENT_CCACHE ccache)
if(SITEAGENT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SITEAGENT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${SITEAGENT_CCACHE})
endif()

# Everybody's interface: include root, warnings, macros that must be set before the first include.
add_library(siteagent_settings INTERFACE)
target_include_directories(siteagent_settings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(siteagent_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 sees overlaps in std::string that are none
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual>)
target_compile_definitions(siteagent_settings INTERFACE
  _TURN_OFF_PLATFORM_STRING # cpprest's U() breaks Boost.Beast
  BOOST_DLL_USE_STD_FS
  SITEAGENT_VERSION="${PROJECT_VERSION}"
  $<$<BOOL:${SITEAGENT_BUILD_TESTS}>:SITEAGENT_TEST_HOOKS>)

# Errors of RapidJSON's misuse throw instead of reading garbage.
target_compile_options(siteagent_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-include${CMAKE_SOURCE_DIR}/cmake/rapidjson_assert.hpp>)

if(SITEAGENT_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(SITEAGENT_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()

find_program(SITEAGENT_LLD ld.lld)
if(SITEAGENT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# A plugin: one exported symbol, no undefined ones, bound at load time, no prefix.
function(siteagent_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES
    PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  target_link_libraries(${name} PRIVATE siteagent_settings siteagent_sdk)
  target_link_options(${name} PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack
    -Wl,--exclude-libs,ALL -Wl,--version-script=${CMAKE_SOURCE_DIR}/sdk/cmake/plugin.map)
  if(NOT SITEAGENT_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
