#include "converters/share/anonymize/keyed_hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/input_file.h"

namespace reprise {
namespace {

constexpr std::string_view kMagic = "reprise-salt-1 ";
constexpr std::size_t kNameDigits = 16;

std::string HexOf(const std::uint8_t* bytes, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

const std::uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

std::string WhyNot() { return std::strerror(errno); }

}  // namespace

Result<KeyedHash> KeyedHash::Random() {
  Salt salt{};
  if (getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size())) {
    return EnvironmentError("the system gives no random numbers for a salt");
  }
  return KeyedHash(salt);
}

Result<KeyedHash> KeyedHash::Create(const std::string& path) {
  REPRISE_ASSIGN(KeyedHash hash, Random());
  constexpr int kOwnerOnly = 0600;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (fd < 0) {
    return EnvironmentError(fmt::format("{}: cannot be created: {}", path, WhyNot()));
  }
  const std::string text = fmt::format("{}{}\n", kMagic, HexOf(hash.salt_.data(), kSaltBytes));
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  if (::close(fd) != 0 || !written) {
    ::unlink(path.c_str());
    return EnvironmentError(fmt::format("{}: cannot be written: {}", path, WhyNot()));
  }
  return hash;
}

Result<KeyedHash> KeyedHash::FromFile(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? Create(path) : EnvironmentError(fmt::format("{}: {}", path, WhyNot()));
  }
  constexpr mode_t kOthers = 077;
  if ((facts.st_mode & kOthers) != 0) {
    return EnvironmentError(
        fmt::format("{}: others can read this salt, and with it undo the names; chmod 600, or use "
                    "another if they may have",
                    path));
  }
  constexpr std::uint64_t kMaxBytes = 4096;
  REPRISE_ASSIGN(std::string text, ReadText(path, kMaxBytes));
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  const std::string_view digits =
      std::string_view(text).substr(std::min(kMagic.size(), text.size()));
  if (!text.starts_with(kMagic) || digits.size() != 2 * kSaltBytes ||
      !std::all_of(digits.begin(), digits.end(), IsHex)) {
    return BadInput(fmt::format("{}: no salt file, expected '{}' and {} hexadecimal digits", path,
                                kMagic, 2 * kSaltBytes));
  }
  Salt salt{};
  for (std::size_t i = 0; i < kSaltBytes; ++i) {
    const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    salt[i] = static_cast<std::uint8_t>(nibble(digits[2 * i]) << 4 | nibble(digits[2 * i + 1]));
  }
  return KeyedHash(salt);
}

std::string KeyedHash::Secret() const { return {salt_.begin(), salt_.end()}; }

Result<KeyedHash> KeyedHash::FromSecret(std::string_view secret) {
  Salt salt{};
  if (secret.size() != salt.size()) {
    return EnvironmentError("what another process of the job sent is no salt");
  }
  std::copy(secret.begin(), secret.end(), salt.begin());
  return KeyedHash(salt);
}

std::uint64_t KeyedHash::Bits(std::string_view kind, std::string_view text) const {
  // The kind's length first: no (kind, text) is another one's.
  std::string message = fmt::format("{}:{}:", kind.size(), kind);
  message += text;
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, salt_.size(), salt_.data());
  hmac_sha256_update(&context, message.size(), BytesOf(message));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  hmac_sha256_digest(&context, digest.size(), digest.data());
  std::uint64_t bits = 0;
  std::memcpy(&bits, digest.data(), sizeof(bits));
  return bits;
}

std::string KeyedHash::Name(std::string_view kind, std::string_view text) const {
  return fmt::format("{}_{:016x}", kind, Bits(kind, text));
}

double KeyedHash::Factor(std::string_view purpose) const {
  constexpr double kTwoTo53 = 9007199254740992.0;
  return std::exp2(2 * static_cast<double>(Bits("factor", purpose) >> 11) / kTwoTo53 - 1);
}

bool IsHashedName(std::string_view text) {
  if (text.size() < kNameDigits + 2 || text[text.size() - kNameDigits - 1] != '_') {
    return false;
  }
  const std::string_view digits = text.substr(text.size() - kNameDigits);
  const std::string_view kind = text.substr(0, text.size() - kNameDigits - 1);
  constexpr std::string_view kKinds[] = {"op", "kernel", "group", "text", "device"};
  return std::all_of(digits.begin(), digits.end(), IsHex) &&
         std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

std::string Sha256(std::string_view bytes) {
  Sha256Stream stream;
  stream.Add(bytes);
  return stream.Hex();
}

struct Sha256Stream::Context : sha256_ctx {};

Sha256Stream::Sha256Stream() : context_(std::make_unique<Context>()) {
  sha256_init(context_.get());
}

Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Add(std::string_view bytes) {
  sha256_update(context_.get(), bytes.size(), BytesOf(bytes));
}

std::string Sha256Stream::Hex() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(context_.get(), digest.size(), digest.data());
  return HexOf(digest.data(), digest.size());
}

}  // namespace reprise
