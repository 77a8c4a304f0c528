// SPDX-License-Identifier: MIT
#include "core/base/json.hpp"

#include "core/base/decimal.hpp"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace siteagent::base {

namespace {

const json null_json;

bool is_number_text(std::string_view t) {
  std::size_t i = 0;
  auto digits = [&] {
    const std::size_t start = i;
    while (i < t.size() && t[i] >= '0' && t[i] <= '9') {
      ++i;
    }
    return i - start;
  };
  if (i < t.size() && t[i] == '-') {
    ++i;
  }
  const std::size_t int_start = i;
  if (digits() == 0 || (t[int_start] == '0' && i - int_start > 1)) {
    return false;
  }
  if (i < t.size() && t[i] == '.') {
    ++i;
    if (digits() == 0) {
      return false;
    }
  }
  if (i < t.size() && (t[i] == 'e' || t[i] == 'E')) {
    ++i;
    if (i < t.size() && (t[i] == '+' || t[i] == '-')) {
      ++i;
    }
    if (digits() == 0) {
      return false;
    }
  }
  return i == t.size();
}

// SAX handler that builds the value and refuses what the limits forbid. RapidJSON names its
// methods. NOLINTBEGIN(readability-identifier-naming)
class builder {
public:
  explicit builder(json_limits limits) : limits_(limits) {}

  bool Null() { return put(json{}); }

  bool Bool(bool b) { return put(json(b)); }

  bool RawNumber(const char* s, rapidjson::SizeType n, bool) { return put(json::number({s, n})); }

  bool Int(int) { return false; } // never called: numbers arrive as text

  bool Uint(unsigned) { return false; }

  bool Int64(std::int64_t) { return false; }

  bool Uint64(std::uint64_t) { return false; }

  bool Double(double) { return false; }

  bool String(const char* s, rapidjson::SizeType n, bool) { return put(json(std::string(s, n))); }

  bool StartObject() { return open(json::object()); }

  bool Key(const char* s, rapidjson::SizeType n, bool) {
    level& top = stack_.back();
    std::string key(s, n);
    if (!top.keys.insert(key).second) {
      why = "duplicate key '" + key + "'";
      return false;
    }
    top.key = std::move(key);
    return count();
  }

  bool EndObject(rapidjson::SizeType) { return close(); }

  bool StartArray() { return open(json::array()); }

  bool EndArray(rapidjson::SizeType) { return close(); }

  json root;
  std::string why;

private:
  struct level {
    json value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool count() {
    if (seen_++ < limits_.elements) {
      return true;
    }
    why = "more than " + std::to_string(limits_.elements) + " elements";
    return false;
  }

  bool open(json container) {
    if (stack_.size() >= limits_.depth) {
      why = "nested deeper than " + std::to_string(limits_.depth) + " levels";
      return false;
    }
    stack_.push_back({std::move(container), {}, {}});
    return count();
  }

  bool close() {
    json done = std::move(stack_.back().value);
    stack_.pop_back();
    return attach(std::move(done));
  }

  bool put(json value) { return count() && attach(std::move(value)); }

  bool attach(json value) {
    if (stack_.empty()) {
      root = std::move(value);
      return true;
    }
    level& top = stack_.back();
    if (top.value.is_object()) {
      top.value.members().emplace_back(std::move(top.key), std::move(value));
    } else {
      top.value.items().push_back(std::move(value));
    }
    return true;
  }

  json_limits limits_;
  std::size_t seen_ = 0;
  std::vector<level> stack_;
};

// NOLINTEND(readability-identifier-naming)

std::string position(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(offset), '\n');
  const auto last = text.substr(0, offset).rfind('\n');
  const auto column = last == std::string_view::npos ? offset + 1 : offset - last;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Length of the valid UTF-8 sequence at the start of `s`, 0 when there is none.
std::size_t utf8_sequence(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto tail = [&](std::size_t i) { return i < s.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return tail(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool ok = tail(1) && tail(2) && !(lead == 0xE0 && byte(1) < 0xA0) &&
                    !(lead == 0xED && byte(1) > 0x9F);
    return ok ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool ok = tail(1) && tail(2) && tail(3) && !(lead == 0xF0 && byte(1) < 0x90) &&
                    !(lead == 0xF4 && byte(1) > 0x8F);
    return ok ? 4 : 0;
  }
  return 0;
}

std::string valid_utf8(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    const std::size_t n = utf8_sequence(s);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      s.remove_prefix(1);
    } else {
      out.append(s.substr(0, n));
      s.remove_prefix(n);
    }
  }
  return out;
}

template <class Writer>
void write_string(Writer& w, std::string_view s) {
  const std::string clean = valid_utf8(s);
  w.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

template <class Writer>
void write(Writer& w, const json& v) {
  switch (v.type()) {
  case json::kind::null:
    w.Null();
    break;
  case json::kind::boolean:
    w.Bool(*v.boolean());
    break;
  case json::kind::number: {
    const auto text = *v.number_text();
    w.RawValue(text.data(), text.size(), rapidjson::kNumberType);
    break;
  }
  case json::kind::string:
    write_string(w, *v.string());
    break;
  case json::kind::array:
    w.StartArray();
    for (const json& item : v.items()) {
      write(w, item);
    }
    w.EndArray();
    break;
  case json::kind::object:
    w.StartObject();
    for (const auto& [key, value] : v.members()) {
      const std::string clean = valid_utf8(key);
      w.Key(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
      write(w, value);
    }
    w.EndObject();
    break;
  }
}

} // namespace

json::json(std::string text) : kind_(kind::string), text_(std::move(text)) {}

json json::object(std::initializer_list<member> members) {
  json out;
  out.kind_ = kind::object;
  out.members_.assign(members.begin(), members.end());
  return out;
}

json json::array(std::vector<json> items) {
  json out;
  out.kind_ = kind::array;
  out.items_ = std::move(items);
  return out;
}

json json::number(std::string_view text) {
  json out;
  if (is_number_text(text)) {
    out.kind_ = kind::number;
    out.text_ = text;
  }
  return out;
}

result<json> json::parse(std::string_view text, json_limits limits) {
  using namespace rapidjson;
  MemoryStream memory(text.data(), text.size());
  EncodedInputStream<UTF8<>, MemoryStream> in(memory);
  builder b(limits);
  Reader reader;
  constexpr unsigned flags =
      kParseIterativeFlag | kParseValidateEncodingFlag | kParseNumbersAsStringsFlag;
  const ParseResult done = reader.Parse<flags>(in, b);
  if (done.IsError()) {
    const std::string why = b.why.empty() ? GetParseError_En(done.Code()) : b.why;
    return base::error{
        error_code::invalid, "not JSON at " + position(text, done.Offset()) + ": " + why};
  }
  // The reader takes one for the end of the text; what stands behind it must not be lost unseen.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return base::error{
        error_code::invalid, "not JSON at " + position(text, nul) + ": a byte of value 0"};
  }
  return std::move(b.root);
}

std::string json::dump() const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> w(buffer);
  write(w, *this);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string json::pretty() const {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> w(buffer);
  w.SetIndent(' ', 2);
  write(w, *this);
  return {buffer.GetString(), buffer.GetSize()};
}

const json* json::find(std::string_view key) const noexcept {
  for (const member& m : members_) {
    if (m.first == key) {
      return &m.second;
    }
  }
  return nullptr;
}

json* json::find(std::string_view key) noexcept {
  return const_cast<json*>(std::as_const(*this).find(key));
}

const json& json::operator[](std::string_view key) const noexcept {
  const json* found = find(key);
  return found != nullptr ? *found : null_json;
}

const json& json::operator[](std::size_t index) const noexcept {
  return index < items_.size() ? items_[index] : null_json;
}

const json& json::at(std::initializer_list<std::string_view> path) const noexcept {
  const json* here = this;
  for (std::string_view key : path) {
    here = here->find(key);
    if (here == nullptr) {
      return null_json;
    }
  }
  return *here;
}

std::optional<std::string_view> json::string() const noexcept {
  return kind_ == kind::string ? std::optional<std::string_view>(text_) : std::nullopt;
}

std::string json::string_or(std::string_view fallback) const {
  return kind_ == kind::string ? text_ : std::string(fallback);
}

std::optional<std::int64_t> json::integer() const noexcept {
  if (kind_ != kind::number && kind_ != kind::string) {
    return std::nullopt;
  }
  const auto value = decimal::parse(text_);
  return value ? value->to_int64() : std::nullopt;
}

std::optional<bool> json::boolean() const noexcept {
  return kind_ == kind::boolean ? std::optional<bool>(boolean_) : std::nullopt;
}

std::optional<std::string_view> json::number_text() const noexcept {
  return kind_ == kind::number || kind_ == kind::string ? std::optional<std::string_view>(text_)
                                                        : std::nullopt;
}

const std::vector<json>& json::items() const noexcept {
  return items_;
}

std::vector<json>& json::items() noexcept {
  return items_;
}

const std::vector<json::member>& json::members() const noexcept {
  return members_;
}

std::vector<json::member>& json::members() noexcept {
  return members_;
}

std::size_t json::size() const noexcept {
  return kind_ == kind::object ? members_.size() : items_.size();
}

json& json::member_ref(std::string_view key) {
  if (kind_ == kind::null) {
    kind_ = kind::object;
  }
  if (json* found = find(key)) {
    return *found;
  }
  return members_.emplace_back(std::string(key), json{}).second;
}

json& json::set(std::string_view key, json value) {
  member_ref(key) = std::move(value);
  return *this;
}

void json::erase(std::string_view key) {
  std::erase_if(members_, [&](const member& m) { return m.first == key; });
}

json& json::push_back(json value) {
  if (kind_ == kind::null) {
    kind_ = kind::array;
  }
  items_.push_back(std::move(value));
  return *this;
}

bool operator==(const json& a, const json& b) noexcept {
  if (a.kind_ != b.kind_) {
    return false;
  }
  switch (a.kind_) {
  case json::kind::null:
    return true;
  case json::kind::boolean:
    return a.boolean_ == b.boolean_;
  case json::kind::string:
    return a.text_ == b.text_;
  case json::kind::number: {
    const auto x = decimal::parse(a.text_);
    const auto y = decimal::parse(b.text_);
    return x && y ? *x == *y : a.text_ == b.text_;
  }
  case json::kind::array:
    return a.items_ == b.items_;
  case json::kind::object:
    break;
  }
  return a.members_.size() == b.members_.size() &&
         std::all_of(a.members_.begin(), a.members_.end(), [&](const json::member& m) {
           const json* other = b.find(m.first);
           return other != nullptr && *other == m.second;
         });
}

struct json_schema::impl {
  rapidjson::Document text;
  std::unique_ptr<rapidjson::SchemaDocument> schema;
};

json_schema::json_schema(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

json_schema::json_schema(json_schema&&) noexcept = default;
json_schema& json_schema::operator=(json_schema&&) noexcept = default;
json_schema::~json_schema() = default;

result<json_schema> json_schema::compile(std::string_view schema_text) {
  const auto guarded = json::parse(schema_text);
  if (!guarded) {
    return with_context(guarded.error(), "settings schema");
  }
  if (!guarded->is_object()) {
    return base::error{error_code::invalid, "settings schema: not a JSON object"};
  }
  auto i = std::make_unique<impl>();
  i->text.Parse<rapidjson::kParseIterativeFlag>(schema_text.data(), schema_text.size());
  if (i->text.HasParseError()) {
    return base::error{error_code::invalid, "settings schema: not readable"};
  }
  i->schema = std::make_unique<rapidjson::SchemaDocument>(i->text);
  return json_schema(std::move(i));
}

std::optional<json_schema::violation> json_schema::check(const json& document) const {
  rapidjson::Document d;
  const std::string text = document.dump();
  d.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (d.HasParseError()) {
    return violation{"", "number", ""}; // a number beyond every double
  }
  rapidjson::SchemaValidator validator(*impl_->schema);
  if (d.Accept(validator)) {
    return std::nullopt;
  }
  const auto text_of = [](const rapidjson::Pointer& p) {
    rapidjson::StringBuffer b;
    p.Stringify(b);
    return std::string(b.GetString(), b.GetSize());
  };
  return violation{
      text_of(validator.GetInvalidDocumentPointer()),
      validator.GetInvalidSchemaKeyword(),
      text_of(validator.GetInvalidSchemaPointer())};
}

} // namespace siteagent::base
