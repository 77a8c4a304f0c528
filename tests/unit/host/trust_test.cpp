// SPDX-License-Identifier: MIT
#include "core/host/trust.hpp"

#include "support.hpp"

#include <elf.h>
#include <fcntl.h>

#include <cstring>

namespace {

using namespace support;

const std::string& minimal() {
  static const std::string bytes = contents(good_plugins() + "/minimal.so");
  return bytes;
}

class plugin_trust : public testing::Test {
protected:
  plugin_trust() { std::filesystem::create_directory(plugins); }

  // The refusal of plugins/p.so, or "" when it is accepted.
  std::string refusal(bool developer_mode = true) const {
    const auto checked = host::check_file({plugins, developer_mode}, "p");
    if (!checked) {
      EXPECT_EQ(checked.error().message.rfind("/", 0), 0u) << "begins with the path";
    }
    return checked ? "" : checked.error().message;
  }

  void install(const std::string& bytes, mode_t mode = 0644) const {
    root.write("plugins/p.so", bytes, mode);
  }

  // The good file with one field of its ELF header changed.
  std::string with_header(const std::function<void(Elf64_Ehdr&)>& change) const {
    std::string bytes = minimal();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  temporary_directory root;
  const std::string plugins = root / "plugins";
};

#define EXPECT_SAYS(text, word) EXPECT_NE((text).find(word), std::string::npos) << (text)

TEST_F(plugin_trust, accepts_a_safe_file_and_gives_its_canonical_path) {
  install(minimal());
  const auto checked = host::check_file({root / "./plugins/../plugins", true}, "p");
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(*checked, std::filesystem::canonical(plugins).string() + "/p.so");
}

TEST_F(plugin_trust, refuses_a_file_writable_by_group) {
  install(minimal(), 0664);
  EXPECT_SAYS(refusal(), "may be written by its group; run chmod go-w");
}

TEST_F(plugin_trust, refuses_a_file_writable_by_everybody) {
  install(minimal(), 0646);
  EXPECT_SAYS(refusal(), "may be written by everybody");
}

TEST_F(plugin_trust, refuses_a_directory_writable_by_group_or_everybody) {
  install(minimal());
  for (const mode_t mode : {mode_t{0775}, mode_t{0757}, mode_t{01777}}) {
    ::chmod(plugins.c_str(), mode);
    EXPECT_SAYS(refusal(), "/plugins: may be written by") << mode;
  }
}

TEST_F(plugin_trust, of_the_parents_counts_for_the_service_and_not_for_a_developer) {
  install(minimal());
  ::chmod(root.path().c_str(), 0777);
  EXPECT_EQ(refusal(true), "");
  EXPECT_SAYS(refusal(false), root.path() + ": ");
}

TEST_F(plugin_trust, accepts_a_sticky_directory_of_root_as_a_parent) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root: the file and the sticky directory must belong to root";
  }
  install(minimal());
  ::chmod(root.path().c_str(), 01777);
  EXPECT_EQ(refusal(false), "");
}

TEST_F(plugin_trust, refuses_a_file_of_another_user) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root: gives the file away";
  }
  install(minimal());
  ASSERT_EQ(::chown((plugins + "/p.so").c_str(), 65534, 65534), 0);
  EXPECT_SAYS(refusal(), "is owned by uid 65534");
  EXPECT_SAYS(refusal(false), "is owned by uid 65534, not by root;");
}

TEST_F(plugin_trust, refuses_a_directory_of_another_user) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root: gives the directory away";
  }
  install(minimal());
  ASSERT_EQ(::chown(plugins.c_str(), 65534, 65534), 0);
  EXPECT_SAYS(refusal(), "/plugins: is owned by uid 65534");
}

TEST_F(plugin_trust, refuses_links_even_to_good_files) {
  root.write("elsewhere.so", minimal());
  std::filesystem::create_symlink(root / "elsewhere.so", plugins + "/p.so");
  EXPECT_SAYS(refusal(), "is a symbolic link; install the file itself");
}

TEST_F(plugin_trust, explains_a_dangling_link) {
  std::filesystem::create_symlink("nowhere.so", plugins + "/p.so");
  EXPECT_SAYS(refusal(), "is a symbolic link to nothing");
}

TEST_F(plugin_trust, explains_an_unreadable_file) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root reads everything";
  }
  install(minimal(), 0200);
  EXPECT_SAYS(refusal(), "permission denied");
}

TEST_F(plugin_trust, explains_absent_files_and_directories) {
  EXPECT_SAYS(refusal(), "/p.so: does not exist");
  const auto checked = host::check_file({root / "absent", true}, "p");
  ASSERT_FALSE(checked);
  EXPECT_SAYS(checked.error().message, "cannot be resolved");
}

TEST_F(plugin_trust, refuses_what_is_no_regular_file_without_waiting) {
  ASSERT_EQ(::mkfifo((plugins + "/p.so").c_str(), 0600), 0);
  EXPECT_SAYS(refusal(), "is no regular file");
}

TEST_F(plugin_trust, refuses_text_and_empty_files) {
  install("");
  EXPECT_SAYS(refusal(), "is empty");
  install("#!/bin/sh\necho I am a plugin\n");
  EXPECT_SAYS(refusal(), "is no ELF file");
  install("\x7f");
  EXPECT_SAYS(refusal(), "is no ELF file");
}

TEST_F(plugin_trust, refuses_other_machines_by_their_name) {
  install(with_header([](Elf64_Ehdr& h) {
    h.e_machine = h.e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
  }));
  EXPECT_SAYS(refusal(), "is built for ");
  install(with_header([](Elf64_Ehdr& h) {
    h.e_ident[EI_CLASS] = ELFCLASS32;
    h.e_machine = EM_386;
  }));
  EXPECT_SAYS(refusal(), "is a 32-bit file (i386)");
}

TEST_F(plugin_trust, refuses_programs) {
  install(with_header([](Elf64_Ehdr& h) { h.e_type = ET_EXEC; }));
  EXPECT_SAYS(refusal(), "is no shared object");
}

TEST_F(plugin_trust, refuses_a_file_cut_anywhere) {
  for (const std::size_t kept : {30ul, 64ul, 200ul, minimal().size() / 2, minimal().size() - 1}) {
    install(minimal().substr(0, kept));
    EXPECT_SAYS(refusal(), "is cut off or damaged") << kept;
  }
}

TEST_F(plugin_trust, refuses_headers_that_point_outside) {
  for (const auto& change : std::vector<std::function<void(Elf64_Ehdr&)>>{
           [](Elf64_Ehdr& h) { h.e_phoff = ~0ull; },
           [](Elf64_Ehdr& h) { h.e_shoff = ~0ull - 10; },
           [](Elf64_Ehdr& h) { h.e_phnum = 0; },
           [](Elf64_Ehdr& h) { h.e_phnum = 0xffff; },
           [](Elf64_Ehdr& h) { h.e_phentsize = 8; },
       }) {
    install(with_header(change));
    EXPECT_SAYS(refusal(), "is cut off or damaged");
  }
}

TEST_F(plugin_trust, survives_a_file_with_random_damage_inside) {
  // The header and the size are right, so only the loader notices: in a child process.
  std::string bytes = minimal();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t from = header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize;
  for (std::size_t i = from; i < bytes.size() - 1; ++i) {
    bytes[i] = static_cast<char>(i * 31 + 7);
  }
  install(bytes);
  auto loaded = host::load_plugin("p", developer(plugins));
  ASSERT_FALSE(loaded);
  EXPECT_SAYS(loaded.error().message, plugins + "/p.so");
}

} // namespace
