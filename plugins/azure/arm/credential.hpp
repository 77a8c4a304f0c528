// SPDX-License-Identifier: MIT
// How a principal proves who it is to the token endpoint: one small class per kind of proof.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/arm/scope.hpp"
#include "plugins/azure/arm/token_answer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace siteagent::azure::arm {

// One request for a token, ready but for deadline and stop.
struct token_request {
  net::request http;
  base::secret derived; // a proof made or read for this request, to be kept out of logs; or empty
};

// [any thread]
class credential {
public:
  credential() = default;
  credential(const credential&) = delete;
  credential& operator=(const credential&) = delete;
  virtual ~credential() = default;

  // What the next exchange rests on, read afresh, so that rotation needs no restart. The same
  // material that was refused a moment ago is not sent again. Errors: auth.
  virtual base::result<base::secret> material() const = 0;

  // `claims`: JSON the token must satisfy, or "". Errors: auth (material that cannot work).
  virtual base::result<token_request> compose(
      const principal& who,
      const base::secret& material,
      const std::string& claims,
      base::wall_time now
  ) const = 0;

  // Asked once before the first exchange; an error ends the attempt.
  virtual base::result<void> look(net::transport& transport, const scope& call) const;

  // What an answer that is no 200 means.
  virtual base::error refusal(const net::response& answer, const principal& who) const;

  // What a 200 holds.
  virtual base::result<token_answer> read(std::string_view body, base::wall_time now) const;

  // The first pause before another attempt after this status (0: no answer), in terms of the unit
  // of every pause; it doubles from there.
  virtual milliseconds first_pause(int status, milliseconds unit) const;

  virtual unsigned attempts() const { return 4; }

  // When the certificate it rests on ends; nullopt: it has none.
  virtual std::optional<base::wall_time> end() const { return std::nullopt; }
};

using credential_ptr = std::shared_ptr<const credential>;
// Reads one secret of the settings by the name of its key; errors are auth and name the key.
using secret_reader = std::function<base::result<base::secret>(std::string_view key)>;

credential_ptr make_secret_credential(secret_reader read);

// PEM or PKCS#12, see assertion.hpp. `with_chain` sends the certificates along (x5c).
credential_ptr make_certificate_credential(secret_reader read, bool has_password, bool with_chain);

// The file is read for every exchange: whoever issues the token rotates it.
credential_ptr make_federated_credential(std::string token_file);

} // namespace siteagent::azure::arm
