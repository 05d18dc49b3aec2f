#include "converters/pytorch/capture_files.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "converters/text_file.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::int32_t rank = 0;
  std::string_view kind;  // "et", "kineto", "meta"
};

// "rank12.kineto.json.gz" → 12, "kineto".
std::optional<Named> ParseName(std::string_view name) {
  constexpr std::string_view kPrefix = "rank";
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  if (name.ends_with(".gz")) {
    name.remove_suffix(3);
  }
  Named out;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, out.rank);
  if (error != std::errc() || out.rank < 0) {
    return std::nullopt;
  }
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  for (const std::string_view kind : {"et", "kineto", "meta"}) {
    if (suffix == fmt::format(".{}.json", kind)) {
      out.kind = kind;
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<RankFiles>> FindCaptures(const std::string& directory) {
  std::error_code error;
  std::map<std::int32_t, RankFiles> found;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const auto named = ParseName(name);
    if (!named) {
      continue;
    }
    RankFiles& files = found[named->rank];
    files.rank = named->rank;
    std::string& slot = named->kind == "et"       ? files.host
                        : named->kind == "kineto" ? files.kineto
                                                  : files.meta;
    if (!slot.empty()) {
      return BadInput(
          fmt::format("{} and {}: two files for one rank; remove one", slot, it->path().string()));
    }
    slot = it->path().string();
  }
  if (error) {
    return BadInput(fmt::format("{}: cannot be listed: {}", directory, error.message()));
  }
  std::erase_if(found, [](const auto& entry) {
    return entry.second.host.empty() && entry.second.kineto.empty();
  });
  if (found.empty()) {
    return BadInput(fmt::format(
        "{}: no capture here: expected rank<N>.et.json[.gz] and rank<N>.kineto.json[.gz]",
        directory));
  }
  std::vector<RankFiles> out;
  for (const auto& [rank, files] : found) {
    if (rank != static_cast<std::int32_t>(out.size())) {
      return BadInput(
          fmt::format("{}: rank {} is missing (rank {} is there)", directory, out.size(), rank));
    }
    if (files.host.empty() || files.kineto.empty()) {
      return BadInput(fmt::format("{}: rank {} has no {} file", directory, rank,
                                  files.host.empty() ? "rank<N>.et.json" : "rank<N>.kineto.json"));
    }
    out.push_back(files);
  }
  return out;
}

bool LooksLikeCapture(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      if (const auto named = ParseName(it->path().filename().string());
          named && named->kind != "meta") {
        return true;
      }
    }
    return false;
  }
  // Far enough to see whether chakra_trace_link has been over it.
  constexpr std::size_t kHeadBytes = std::size_t{1} << 17;
  const std::string text = ReadHead(path, kHeadBytes);
  const std::size_t brace = text.find_first_not_of(" \n\r\t");
  if (brace == std::string_view::npos || text[brace] != '{') {
    return false;
  }
  const bool linked = text.find("\"exclusive_dur\"") != std::string_view::npos ||
                      text.find("\"inclusive_dur\"") != std::string_view::npos;
  const bool host = !linked && text.find("\"schema\"") != std::string_view::npos &&
                    text.find("\"nodes\"") != std::string_view::npos;
  return host || text.find("\"traceEvents\"") != std::string_view::npos ||
         text.find("\"baseTimeNanoseconds\"") != std::string_view::npos ||
         text.find("\"deviceProperties\"") != std::string_view::npos;
}

}  // namespace reprise::pytorch
