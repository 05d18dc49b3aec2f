#include "converters/share/audit/secret_scan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <regex>

namespace reprise {
namespace {

struct Pattern {
  std::string_view kind;
  const char* expression;
};
constexpr std::string_view kSecret = "secret";

constexpr Pattern kPatterns[] = {
    {"path", R"((?:^|[\s"'(=:,])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)+)"},
    {"path", R"(\b[\w.+-]+(?:/[\w.+-]+){2,})"},
    {"path", R"(\b[A-Za-z]:\\[\w. -]+)"},
    {"path",
     R"(\b[\w-]+\.(?:py|pyc|cc|cpp|cu|cuh|hpp|so|pt|pth|ckpt|safetensors|ipynb|yaml|yml|sh)\b)"},
    {"e-mail address", R"([\w.+-]+@[\w-]+(?:\.[\w-]+)+)"},
    {"network address", R"(\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b)"},
    {"network address", R"(\b(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}\b)"},
    {"network address", R"(\b(?:fe80|fd[0-9a-f]{2}|2[0-9a-f]{3})::?[0-9a-f:]{2,}\b)"},
    {"network address", R"(\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b)"},
    {"network address", R"(\b[a-z][a-z0-9+]*://[^\s/]+)"},
    {"host name",
     R"(\b[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*\.(?:com|org|net|io|ai|edu|gov|local|internal|lan|cloud|corp|dev|de|uk|fr|cn|jp|us|eu|ch|ca|kr|ru)\b)"},
    {"host name", R"(\b(?:node|host|worker|login|compute|dgx|hgx)-?\d{1,5}\b)"},
    {"host name", R"(\b(?:ip|gpu)-\d{1,5}(?:-\d{1,3})*\b)"},
    {"user name", R"(/(?:home|Users)/[\w.-]+)"},
    {kSecret, R"(\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)"},
    {kSecret, R"(\bgh[pousr]_[A-Za-z0-9]{30,})"},
    {kSecret, R"(\bgithub_pat_\w{20,})"},
    {kSecret, R"(\bglpat-[\w-]{16,})"},
    {kSecret, R"(\bsk-[\w-]{20,})"},
    {kSecret, R"(\bhf_[A-Za-z0-9]{20,})"},
    {kSecret, R"(\bxox[abprs]-[\w-]{10,})"},
    {kSecret, R"(\bAIza[\w-]{35})"},
    {kSecret, R"(\beyJ[\w-]{8,}\.eyJ[\w-]{8,})"},
    {kSecret, R"(-----BEGIN [A-Z ]*PRIVATE KEY)"},
    {kSecret,
     R"((?:[Pp]assword|PASSWORD|passwd|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Aa]pi_?[Kk]ey|API_?KEY)\s*[=:]\s*[^\s:=]{4,})"},
    {kSecret, R"(\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b)"},
};

struct Compiled {
  std::string_view kind;
  std::regex expression;
};

const std::vector<Compiled>& Expressions() {
  static const std::vector<Compiled> expressions = [] {
    std::vector<Compiled> all;
    for (const Pattern& pattern : kPatterns) {
      all.push_back({pattern.kind, std::regex(pattern.expression, std::regex::optimize)});
    }
    return all;
  }();
  return expressions;
}

bool IsTokenCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '=';
}

// Keys look like nothing else: long, of all sorts of characters, each as likely as the other.
std::string_view FindRandom(std::string_view text) {
  constexpr std::size_t kMin = 24;
  constexpr double kMinBits = 4.2;
  constexpr auto kMinDigits = 3;
  while (!text.empty()) {
    const auto* const begin = std::find_if(text.begin(), text.end(), IsTokenCharacter);
    const auto* const end = std::find_if_not(begin, text.end(), IsTokenCharacter);
    const std::string_view run(begin, static_cast<std::size_t>(end - begin));
    const auto count = [&run](int (*is)(int)) {
      return std::count_if(run.begin(), run.end(),
                           [is](char c) { return is(static_cast<unsigned char>(c)) != 0; });
    };
    if (run.size() >= kMin && count(std::isupper) > 1 && count(std::islower) > 1 &&
        count(std::isdigit) >= kMinDigits && EntropyBits(run) >= kMinBits) {
      return run;
    }
    text = {end, static_cast<std::size_t>(text.end() - end)};
  }
  return {};
}

// Not inside of a longer word.
bool HasWord(std::string_view text, std::string_view word) {
  constexpr std::size_t kMin = 3;
  if (word.size() < kMin) {
    return false;
  }
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

class Scanner {
 public:
  explicit Scanner(const LocalNames& local) : local_(local) {}

  void Piece(std::string_view text) {
    std::match_results<std::string_view::const_iterator> match;
    for (const Compiled& pattern : Expressions()) {
      if (!Known(pattern.kind) &&
          std::regex_search(text.begin(), text.end(), match, pattern.expression)) {
        Add(pattern.kind, match.str());
      }
    }
    const auto local = [&](std::string_view kind, const std::string& name) {
      if (!Known(kind) && HasWord(text, name)) {
        Add(kind, name);
      }
    };
    local("host name", local_.host);
    local("user name", local_.user);
    local("path", local_.home);
    if (const std::string_view random = FindRandom(text); !random.empty() && !Known(kSecret)) {
      Add(kSecret, std::string(random));
    }
  }

  std::vector<Discovery> Take() { return std::move(found_); }

 private:
  [[nodiscard]] bool Known(std::string_view kind) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const Discovery& discovery) { return discovery.kind == kind; });
  }

  void Add(std::string_view kind, std::string excerpt) {
    constexpr std::size_t kMax = 80;
    constexpr std::size_t kMaxOfSecret = 6;  // a report may be shared too
    const std::size_t most = kind == kSecret ? kMaxOfSecret : kMax;
    if (excerpt.size() > most) {
      excerpt.resize(most);
      excerpt += "...";
    }
    found_.push_back({kind, std::move(excerpt)});
  }

  const LocalNames& local_;
  std::vector<Discovery> found_;
};

}  // namespace

double EntropyBits(std::string_view text) {
  std::array<std::size_t, 256> counts{};
  for (const char c : text) {
    ++counts[static_cast<unsigned char>(c)];
  }
  double bits = 0;
  for (const std::size_t count : counts) {
    if (count > 0) {
      const double share = static_cast<double>(count) / static_cast<double>(text.size());
      bits -= share * std::log2(share);
    }
  }
  return bits;
}

std::vector<Discovery> ScanText(std::string_view text, const LocalNames& local) {
  // std::regex takes stack for every character; pieces overlap by the longest thing of interest.
  constexpr std::size_t kPiece = 2048;
  constexpr std::size_t kOverlap = 256;
  Scanner scanner(local);
  for (std::size_t at = 0;; at += kPiece - kOverlap) {
    scanner.Piece(text.substr(at, kPiece));
    if (at + kPiece >= text.size()) {
      return scanner.Take();
    }
  }
}

}  // namespace reprise
