#include "report/run/provenance.h"

#include <algorithm>

namespace reprise {
namespace {

// udev names an interface by its address where it knows nothing better.
std::string WithoutHardwareAddresses(std::string_view text) {
  constexpr std::size_t kDigits = 12;
  std::string without(text);
  for (const std::string_view prefix : {"enx", "wlx", "wwx"}) {
    for (std::size_t at = without.find(prefix); at != without.npos; at = without.find(prefix, at)) {
      at += prefix.size();
      const std::string digits = without.substr(at, kDigits);
      if (digits.size() == kDigits && digits.find_first_not_of("0123456789abcdef") == digits.npos) {
        without.erase(at, kDigits);
      }
    }
  }
  return without;
}

}  // namespace

const ProvenanceField* FindProvenanceField(std::string_view table, std::string_view field) {
  const auto* const found = std::ranges::find_if(kProvenanceFields, [&](const auto& known) {
    return known.table == table &&
           (known.field.ends_with('.') ? field.starts_with(known.field) : field == known.field);
  });
  return found == kProvenanceFields.end() ? nullptr : found;
}

std::string NumberedHostName(int number) { return "host" + std::to_string(number); }

std::string FileNamesOnly(std::string_view text) {
  constexpr std::string_view kEndsPath = " \t\n\"'`,;:()<>=|";
  std::string without;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of(kEndsPath), text.size());
    const std::string_view word = text.substr(0, length);
    const bool path = word.starts_with('/') || word.starts_with("./") || word.starts_with("../") ||
                      word.starts_with("~/") || std::ranges::count(word, '/') > 1;
    without += path ? word.substr(word.rfind('/') + 1) : word;
    if (length < text.size()) {
      without += text[length];
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return without;
}

std::string WithoutProvenance(ProvenanceRule rule, std::string_view text, std::string_view host) {
  switch (rule) {
    case ProvenanceRule::kLeftOut:
      break;
    case ProvenanceRule::kNumbered:
      return std::string(host);
    case ProvenanceRule::kFileNames:
      return FileNamesOnly(text);
    case ProvenanceRule::kNoAddress:
      return WithoutHardwareAddresses(text);
    case ProvenanceRule::kShortened:
      return std::string(text.substr(0, text.find_first_of("-+")));
  }
  return {};
}

}  // namespace reprise
