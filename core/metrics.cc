#include "core/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace reprise {
namespace {

std::string WithDashes(std::string_view digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) {
      text += '-';
    }
    text += digits[i];
  }
  return text;
}

// "domain:bus:device.function", all hexadecimal.
bool ParsePci(std::string_view text, std::array<unsigned, 4>& fields) {
  constexpr std::string_view kAfter = "::.";
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, fields[i], 16);
    if (error != std::errc() || (i < kAfter.size() && (next == end || *next != kAfter[i]))) {
      return false;
    }
    at = i < kAfter.size() ? next + 1 : next;
  }
  return at == end;
}

}  // namespace

std::vector<std::string_view> StateNames(std::string_view states) {
  std::vector<std::string_view> names;
  while (!states.empty()) {
    const std::size_t comma = std::min(states.find(','), states.size());
    names.push_back(states.substr(0, comma));
    states.remove_prefix(std::min(comma + 1, states.size()));
  }
  return names;
}

bool MeasuresEnergy(const Metric& metric) {
  return metric.unit == "joules" || (metric.unit == "watts" && metric.name != "power_limit");
}

bool IsMeterOf(const MeteredDevice& meter, std::string_view uuid, std::string_view pci_bus_id) {
  if (!meter.uuid.empty() && !uuid.empty()) {
    return meter.uuid == uuid;
  }
  return !meter.pci_bus_id.empty() && meter.pci_bus_id == pci_bus_id;
}

std::string UuidText(const unsigned char (&bytes)[16]) {
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += fmt::format("{:02x}", byte);
  }
  return WithDashes(digits);
}

std::string NormalizeUuid(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos && dash < 8) {
    text.remove_prefix(dash + 1);  // "GPU-", "MIG-"
  }
  std::string digits;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
      digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c != '-') {
      return {};
    }
  }
  return digits.size() == 32 ? WithDashes(digits) : std::string();
}

std::string NormalizePciBusId(std::string_view text) {
  std::array<unsigned, 4> fields{};
  if (!ParsePci(text, fields)) {
    return {};
  }
  return fmt::format("{:0{}x}:{:02x}:{:02x}.{:x}", fields[0], fields[0] > 0xFFFF ? 8 : 4,
                     fields[1] & 0xFF, fields[2] & 0xFF, fields[3] & 0xF);
}

}  // namespace reprise
