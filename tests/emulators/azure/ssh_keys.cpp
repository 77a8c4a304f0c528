// SPDX-License-Identifier: MIT
// SSH public keys as resources: written at once, and pairs made by the service.
#include "handlers.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

namespace siteagent::azure_emulator {

using base::json;

namespace {

struct free_key {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

struct free_bio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

struct free_number {
  void operator()(BIGNUM* number) const { BN_free(number); }
};

void append_field(std::string& blob, std::string_view field) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    blob += static_cast<char>(field.size() >> static_cast<unsigned>(shift) & 0xFFU);
  }
  blob += field;
}

// A number as SSH writes it: big endian, with a zero in front where it would look negative.
std::string number_of(const EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  EVP_PKEY_get_bn_param(key, name, &raw);
  const std::unique_ptr<BIGNUM, free_number> number(raw);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number.get())) + 1, '\0');
  BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(bytes.data()) + 1);
  return (static_cast<unsigned char>(bytes[1]) & 0x80U) != 0 ? bytes : bytes.substr(1);
}

std::string public_line(const EVP_PKEY* key) {
  std::string blob;
  append_field(blob, "ssh-rsa");
  append_field(blob, number_of(key, OSSL_PKEY_PARAM_RSA_E));
  append_field(blob, number_of(key, OSSL_PKEY_PARAM_RSA_N));
  return "ssh-rsa " + base::base64(blob) + " generated-by-azure";
}

std::string private_text(EVP_PKEY* key) {
  const std::unique_ptr<BIO, free_bio> out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey_traditional(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  std::string text;
  for (const char c : std::string_view(data, static_cast<std::size_t>(size))) {
    text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  }
  return text;
}

// The service shows the group of these in upper case.
std::string shown_id(const resource_path& path) {
  resource_path upper = path;
  for (char& c : upper.group) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper.id();
}

} // namespace

reply put_ssh_key(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  resource r;
  r.path = path;
  r.location = normalized_location(c.body["location"].string_or(""));
  r.created = existing == nullptr ? c.now() : existing->created;
  r.changed = c.now();
  r.body = json::object({{"name", path.name}, {"id", shown_id(path)}, {"location", r.location}});
  if (const auto& tags = c.body["tags"]; tags.is_object()) {
    r.body.set("tags", tags);
  }
  // What a PUT leaves out stays, as with all of compute.
  json key = c.body.at({"properties", "publicKey"});
  if (key.is_null() && existing != nullptr) {
    key = existing->body.at({"properties", "publicKey"});
  }
  json properties = json::object();
  if (!key.is_null()) {
    properties.set("publicKey", key);
  }
  r.body.set("properties", properties);
  const int status = existing == nullptr ? 201 : 200;
  return json_reply(status, render(c.world, c.world.put(std::move(r))));
}

reply delete_ssh_key(context& c, const resource_path& path) {
  if (c.world.find(path.key()) == nullptr) {
    return empty_reply(204);
  }
  c.world.erase(path.key());
  return empty_reply(200);
}

reply generate_ssh_key(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return resource_not_found(path);
  }
  const std::unique_ptr<EVP_PKEY, free_key> key(EVP_RSA_gen(2048));
  const std::string line = public_line(key.get());
  r->body.member_ref("properties").set("publicKey", line);
  r->changed = c.now();
  return json_reply(
      200,
      json::object(
          {{"privateKey", private_text(key.get())}, {"publicKey", line}, {"id", shown_id(path)}}
      )
  );
}

} // namespace siteagent::azure_emulator
