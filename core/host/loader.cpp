// SPDX-License-Identifier: MIT
#include "core/host/loader.hpp"

#include "core/base/text.hpp"

#include <boost/dll/shared_library.hpp>

#include <dlfcn.h>

#include <deque>
#include <mutex>
#include <vector>

namespace siteagent::host {

namespace {

// Keeps every library that was ever opened. Never destroyed, so nothing is ever unmapped.
class library_registry {
public:
  const boost::dll::shared_library& keep(boost::dll::shared_library library) {
    const std::lock_guard lock(mutex_);
    return libraries_.emplace_back(std::move(library));
  }

private:
  std::mutex mutex_;
  std::deque<boost::dll::shared_library> libraries_; // a deque: references stay valid
};

library_registry& registry() {
  static auto* const instance = new library_registry;
  return *instance;
}

// Boost appends the text of an errno that has nothing to do with the failure; the loader's own
// text stands in its brackets.
std::string loader_text(const std::string& what) {
  static constexpr std::string_view opening = "(dlerror system message: ";
  const auto from = what.find(opening);
  const auto to = what.rfind("): ");
  if (from == std::string::npos || to == std::string::npos || to < from + opening.size()) {
    return what;
  }
  return what.substr(from + opening.size(), to - from - opening.size());
}

base::error no_entry(const boost::dll::shared_library& library) {
  std::vector<std::string> others;
  for (int major = 0; major < 32; ++major) {
    std::string name = "sagent_plugin_v" + std::to_string(major);
    if (name != SAGENT_ENTRY_NAME && library.has(name)) {
      others.push_back(std::move(name));
    }
  }
  const std::string ours = "this agent needs " SAGENT_ENTRY_NAME " (ABI " +
                           std::to_string(SAGENT_ABI_MAJOR) + "." +
                           std::to_string(SAGENT_ABI_MINOR) + ")";
  if (others.empty()) {
    return {
        .code = base::error_code::invalid,
        .message = "it exports no plugin entry, so it is no site agent plugin; " + ours};
  }
  return {
      .code = base::error_code::invalid,
      .message = "it was built for another ABI major: it exports " + base::join(others, ", ") +
                 ", " + ours + "; install a plugin built for this agent, or another agent"};
}

} // namespace

base::result<const sagent_plugin*> load_descriptor(const std::string& path) {
  static constexpr auto mode = static_cast<boost::dll::load_mode::type>(
      boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local | RTLD_NODELETE
  );
  try {
    // The throwing constructor: the error_code overloads lose the loader's text (Boost.DLL 1.74).
    boost::dll::shared_library opened(path, mode);
    const boost::dll::shared_library& library = registry().keep(std::move(opened));
    if (!library.has(SAGENT_ENTRY_NAME)) {
      return no_entry(library);
    }
    return library.get<const sagent_plugin*()>(SAGENT_ENTRY_NAME)();
  } catch (const boost::dll::fs::system_error& e) {
    std::string text = loader_text(e.what());
    if (text.rfind(path + ": ", 0) == 0) {
      text.erase(0, path.size() + 2);
    }
    return base::error{.code = base::error_code::invalid, .message = "the loader says: " + text};
  } catch (...) {
    return base::error{
        .code = base::error_code::invalid,
        .message = "its entry function threw an exception; the plugin is broken"};
  }
}

} // namespace siteagent::host
