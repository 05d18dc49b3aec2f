#include "converters/share/anonymize/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <vector>

#include "converters/share/anonymize/embedded.h"
#include "core/input_file.h"
#include "core/operator_table.h"
#include "core/text.h"

namespace reprise {
namespace {

constexpr std::string_view kSectionNames[] = {
    "names", "optimizers", "kernels", "nccl words", "strings", "header words", "hardware words"};
constexpr std::string_view kAnonymousNamespace = "(anonymous namespace)";

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The stretches of letters and digits.
std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto* const begin = std::find_if(text.begin(), text.end(), IsWordCharacter);
    if (begin == text.end()) {
      return words;
    }
    const auto* const end = std::find_if_not(begin, text.end(), IsWordCharacter);
    words.emplace_back(begin, static_cast<std::size_t>(end - begin));
    text = {end, static_cast<std::size_t>(text.end() - end)};
  }
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  const bool has = text.starts_with(prefix);
  text.remove_prefix(has ? prefix.size() : 0);
  return has;
}

// What autograd makes of an operator's name: "_unsafe_view" → "UnsafeView", "conv2d" → "Conv2D".
std::string CamelCase(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = IsDigit(c);
  }
  return out;
}

// "void at::f<int>(float*)" → "at::f".
std::string BaseOfKernel(std::string_view name) {
  TakePrefix(name, "void ");
  std::string out;
  while (!name.empty()) {
    if (TakePrefix(name, kAnonymousNamespace)) {
      out += kAnonymousNamespace;
      continue;
    }
    if (name.front() == '<' || name.front() == '(') {
      break;
    }
    out += name.front();
    name.remove_prefix(1);
  }
  while (out.ends_with(' ')) {
    out.pop_back();
  }
  return out;
}

}  // namespace

Result<Vocabulary> Vocabulary::Create(const std::string& more) {
  Vocabulary vocabulary;
  for (const OperatorRow& row : OperatorRows()) {
    if (!row.name.ends_with('*')) {
      vocabulary.AddName(std::string(row.name));
    }
  }
  for (const EmbeddedFile& file : EmbeddedTexts()) {
    if (file.name == "public_names.txt") {
      REPRISE_TRY(vocabulary.Add(file.text, std::string(file.name)));
    }
  }
  if (!more.empty()) {
    constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 28;
    REPRISE_ASSIGN(const std::string text, ReadText(more, kMaxBytes));
    REPRISE_TRY(vocabulary.Add(text, more));
  }
  return vocabulary;
}

Status Vocabulary::Add(std::string_view text, const std::string& origin) {
  auto section = static_cast<std::size_t>(kNames);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with("# ")) {
      continue;
    }
    if (!line.starts_with('[') || !line.ends_with(']')) {
      section == kNames ? AddName(std::string(line))
                        : static_cast<void>(sections_.at(section).emplace(line));
      continue;
    }
    line = line.substr(1, line.size() - 2);
    const auto* const found = std::find(std::begin(kSectionNames), std::end(kSectionNames), line);
    if (found == std::end(kSectionNames)) {
      return BadInput(fmt::format("{}: no section is called [{}]", origin, line));
    }
    section = static_cast<std::size_t>(found - std::begin(kSectionNames));
  }
  return {};
}

void Vocabulary::AddName(const std::string& name) {
  constexpr std::string_view kAten = "aten::";
  if (name.starts_with(kAten)) {
    backward_.insert(CamelCase(std::string_view(name).substr(kAten.size())));
  }
  sections_[kNames].insert(name);
}

bool Vocabulary::IsName(std::string_view name) const {
  if (Has(kNames, name)) {
    return true;
  }
  std::string_view rest = name;
  if (TakePrefix(rest, "ProfilerStep#")) {
    return IsNumber(rest);
  }
  if (TakePrefix(rest, "autograd::engine::evaluate_function: ")) {
    return Has(kNames, rest) || IsBackwardNode(rest);
  }
  return IsOptimizerRange(name) || IsBackwardNode(name);
}

// "Optimizer.step#Adam.step", "Optimizer.zero_grad#SGD.zero_grad".
bool Vocabulary::IsOptimizerRange(std::string_view name) const {
  for (const std::string_view call : {"step", "zero_grad"}) {
    std::string_view rest = name;
    if (!TakePrefix(rest, "Optimizer.") || !TakePrefix(rest, call) || !TakePrefix(rest, "#")) {
      continue;
    }
    const std::size_t dot = rest.find('.');
    return dot != std::string_view::npos && rest.substr(dot + 1) == call &&
           Has(kOptimizers, rest.substr(0, dot));
  }
  return false;
}

bool Vocabulary::IsBackwardNode(std::string_view name) const {
  const std::size_t at = name.rfind("Backward");
  constexpr std::size_t kLength = std::string_view("Backward").size();
  return at != std::string_view::npos && IsNumber(name.substr(at + kLength)) &&
         backward_.contains(name.substr(0, at));
}

bool Vocabulary::AllWords(Section section, std::string_view text) const {
  const std::vector<std::string_view> words = WordsOf(text);
  return !words.empty() && std::all_of(words.begin(), words.end(), [&](std::string_view word) {
    return IsNumber(word) || Has(section, word);
  });
}

std::optional<std::string> Vocabulary::PublicKernel(std::string_view name) const {
  std::string base = BaseOfKernel(name);
  const bool nccl = base.find("Kernel_") != std::string::npos &&
                    base.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_") == std::string::npos &&
                    AllWords(kNcclWords, base);
  return nccl || Has(kKernels, base) || Has(kNames, base) ? std::optional(std::move(base))
                                                          : std::nullopt;
}

bool Vocabulary::IsString(std::string_view text) const {
  return text.empty() || Has(kStrings, text);
}

bool Vocabulary::IsHeaderText(std::string_view text) const {
  return text.empty() || AllWords(kHeaderWords, text);
}

bool Vocabulary::IsHardware(std::string_view text) const {
  constexpr std::size_t kMaxModelNumber = 8;
  const std::vector<std::string_view> words = WordsOf(text);
  return std::all_of(words.begin(), words.end(), [&](const std::string_view& word) {
    const bool is_model_number = &word != words.data() && word.size() <= kMaxModelNumber &&
                                 std::any_of(word.begin(), word.end(), IsDigit);
    return is_model_number || Has(kHardwareWords, word);
  });
}

std::optional<DeviceName> ParseDevice(std::string_view text) {
  constexpr std::string_view kTypes[] = {"cpu", "cuda", "hip", "xpu", "mps",
                                         "xla", "meta", "hpu", "npu", "mtia"};
  const std::size_t colon = text.find(':');
  DeviceName device{.type = text.substr(0, colon)};
  if (std::find(std::begin(kTypes), std::end(kTypes), device.type) == std::end(kTypes)) {
    return std::nullopt;
  }
  if (colon != std::string_view::npos) {
    device.number = ParseNumber<decltype(device.number)>(text.substr(colon + 1)).value_or(-1);
    if (device.number < 0) {
      return std::nullopt;
    }
  }
  return device;
}

}  // namespace reprise
