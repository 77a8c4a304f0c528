// SPDX-License-Identifier: MIT
// Part of every program of a sanitizer build that uses the HTTP client: what the sanitizers see of
// cpprestsdk is not instrumented and ends after the leak check, and would be reported as ours.

extern "C" {

[[gnu::visibility("default")]] const char* __lsan_default_options();
[[gnu::visibility("default")]] const char* __lsan_default_suppressions();
[[gnu::visibility("default")]] const char* __tsan_default_options();
[[gnu::visibility("default")]] const char* __tsan_default_suppressions();

const char* __lsan_default_options() {
  return "print_suppressions=0";
}

// Its threads end only after OpenSSL has cleaned up, and leave what OpenSSL kept for each of them.
// To look for OpenSSL objects of our own that leak: fast_unwind_on_malloc=0 in ASAN_OPTIONS, and
// without the second line.
const char* __lsan_default_suppressions() {
  return "leak:libcpprest.so\n"
         "leak:libcrypto.so\n";
}

// Without this every access within the library is compared with ours.
const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}

// Its templates are compiled here and instrumented, the locks they rely on are not.
const char* __tsan_default_suppressions() {
  return "race:pplx::\n";
}
}
