#include "et_schema/folded_set.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/input_file.h"
#include "core/output_kind.h"
#include "core/parse_json.h"
#include "core/temporary_output.h"
#include "core/text.h"
#include "et_schema/byte_stream.h"
#include "et_schema/rank_columns.h"
#include "et_schema/times_file.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using FoldedJson = nlohmann::ordered_json;

constexpr const char* kFoldedFormat = "reprise-folded";
// Of classes' files, unpacked: ranks are read one after the other, of any class.
constexpr std::uint64_t kMostKeptBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxFoldedBytes = std::uint64_t{1} << 28;

std::string PathOf(const std::string& directory) {
  return (fs::path(directory) / kFoldedFile).string();
}

Status CheckName(const std::string& name, std::string_view what) {
  return !name.empty() && name.find('/') == std::string::npos
             ? Status()
             : BadInput(fmt::format("\"{}\": expected a {} in the same directory", name, what));
}

Result<AlikeRanks> ParseClass(const FoldedJson& json, std::uint64_t& ranks) {
  AlikeRanks out{.file = json.at("file").get<std::string>(),
                 .times = json.at("times").get<std::string>()};
  REPRISE_TRY(CheckName(out.file, "file NAME.class<N>.et"));
  REPRISE_TRY(CheckName(out.times, "file NAME.class<N>.times"));
  for (const FoldedJson& text : json.at("ranks")) {
    REPRISE_ASSIGN(const RankRange range, ParseRangeText(text.get<std::string>()));
    ranks += static_cast<std::uint64_t>(range.size());
    if (ranks > CurrentInputLimits().ranks) {
      return OverLimit("\"classes\"", fmt::format("{} ranks", ranks), "ranks");
    }
    for (std::int64_t rank = range.first; rank <= range.last; rank += range.stride) {
      out.ranks.push_back(static_cast<std::int32_t>(rank));
    }
  }
  if (out.ranks.empty()) {
    return BadInput(fmt::format("class of {}: no ranks", out.file));
  }
  return out;
}

// Another file in its place is another file.
using FileIdentity = std::tuple<std::string, dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

}  // namespace

struct FoldedSet::Kept {
  std::mutex mutex;
  std::map<std::size_t, std::shared_ptr<const ReferenceRank>> references;
  std::uint64_t bytes = 0;
};

FoldedSet::FoldedSet() : kept_(std::make_unique<Kept>()) {}
FoldedSet::~FoldedSet() = default;

bool FoldedSet::Present(const std::string& directory) {
  std::error_code error;
  return fs::exists(PathOf(directory), error);
}

Result<std::shared_ptr<const FoldedSet>> FoldedSet::Read(const std::string& directory) {
  static std::mutex mutex;
  static FileIdentity read;
  static std::weak_ptr<const FoldedSet> held;
  struct stat info {};
  const std::string path = PathOf(directory);
  const bool found = ::stat(path.c_str(), &info) == 0;
  FileIdentity file{path,         info.st_dev,         info.st_ino,
                    info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  const std::lock_guard lock(mutex);
  if (auto known = found && file == read ? held.lock() : nullptr) {
    return known;
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path, kMaxFoldedBytes));
  const std::shared_ptr<FoldedSet> set(new FoldedSet());
  set->directory_ = directory;
  try {
    if (const Status parsed = set->Parse(text); !parsed) {
      return BadInput(fmt::format("{}: {}", path, parsed.error().message));
    }
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format("{}: {}", path, error.what()));
  }
  held = set;
  read = std::move(file);
  return set;
}

Status FoldedSet::Parse(const std::string& text) {
  const auto json = ParseJson<FoldedJson>(text);
  if (json.value("format", "") != kFoldedFormat) {
    return BadInput(fmt::format("\"format\" is not \"{}\"", kFoldedFormat));
  }
  if (json.at("version").get<int>() != 1) {
    return BadInput(
        fmt::format("version {}; this Reprise reads version 1", json.at("version").get<int>()));
  }
  name_ = json.at("name").get<std::string>();
  REPRISE_TRY(CheckName(name_, "name of files"));
  std::uint64_t ranks = 0;
  std::set<std::string> files;
  for (const FoldedJson& entry : json.at("classes")) {
    REPRISE_ASSIGN(AlikeRanks one, ParseClass(entry, ranks));
    for (const std::string& file : {one.file, one.times}) {
      if (!files.insert(file).second) {
        return BadInput(fmt::format("two classes have the file {}", file));
      }
    }
    for (std::size_t i = 0; i < one.ranks.size(); ++i) {
      if (!places_.try_emplace(one.ranks[i], Place{classes_.size(), i}).second) {
        return BadInput(fmt::format("rank {} is in two classes", one.ranks[i]));
      }
    }
    classes_.push_back(std::move(one));
  }
  return classes_.empty() ? BadInput("\"classes\" is empty") : Status();
}

Status FoldedSet::Write(const std::string& directory, const std::string& name,
                        const std::vector<AlikeRanks>& classes) {
  FoldedJson json = {{"format", kFoldedFormat}, {"version", 1}, {"name", name}};
  json["classes"] = FoldedJson::array();
  for (const AlikeRanks& one : classes) {
    FoldedJson ranks = FoldedJson::array();
    for (const RankRange& range : RangesOf(one.ranks)) {
      ranks.push_back(RangeText(range));
    }
    json["classes"].push_back(
        {{"file", one.file}, {"times", one.times}, {"ranks", std::move(ranks)}});
  }
  return WriteTextFile(PathOf(directory),
                       json.dump(1, ' ', false, FoldedJson::error_handler_t::replace) + "\n");
}

std::map<std::int32_t, std::string> FoldedSet::Files() const {
  std::map<std::int32_t, std::string> files;
  for (const auto& [rank, place] : places_) {
    files.emplace_hint(files.end(), rank,
                       (fs::path(directory_) / fmt::format("{}.{}.et", name_, rank)).string());
  }
  return files;
}

std::vector<std::string> FoldedSet::FileNames() const {
  std::vector<std::string> names = {kFoldedFile};
  for (const AlikeRanks& one : classes_) {
    names.push_back(one.file);
    names.push_back(one.times);
  }
  return names;
}

Result<std::shared_ptr<const ReferenceRank>> FoldedSet::Reference(std::size_t of_class) const {
  const std::lock_guard lock(kept_->mutex);
  const auto known = kept_->references.find(of_class);
  if (known != kept_->references.end()) {
    return known->second;
  }
  const std::string path = (fs::path(directory_) / classes_[of_class].file).string();
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) {
    return BadInput(fmt::format("{}: missing, and {} names it", path, kFoldedFile));
  }
  REPRISE_ASSIGN(auto reference, ReferenceRank::Read(path));
  if (kept_->bytes + reference->bytes() > kMostKeptBytes) {
    kept_->references.clear();
    kept_->bytes = 0;
  }
  kept_->bytes += reference->bytes();
  kept_->references[of_class] = reference;
  return reference;
}

Result<std::unique_ptr<ByteSource>> FoldedSet::Open(std::int32_t rank) const {
  const Place place = places_.at(rank);
  const AlikeRanks& one = classes_[place.of_class];
  REPRISE_ASSIGN(auto reference, Reference(place.of_class));
  return OpenTimes((fs::path(directory_) / one.times).string(), place.number, one.ranks.size(),
                   std::move(reference), fmt::format("{}.{}.et", name_, rank));
}

Result<std::unique_ptr<ByteSource>> OpenFoldedRank(const std::string& path) {
  const fs::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().string() : ".";
  std::error_code error;
  if (file.extension() != ".et" || fs::exists(fs::symlink_status(file, error)) ||
      !FoldedSet::Present(directory)) {
    return nullptr;
  }
  REPRISE_ASSIGN(const auto set, FoldedSet::Read(directory));
  const std::string stem = file.stem().string();
  const std::string begin = set->name() + ".";
  const auto rank = stem.starts_with(begin)
                        ? ParseNumber<std::int32_t>(std::string_view(stem).substr(begin.size()))
                        : std::nullopt;
  if (!rank || !set->Has(*rank)) {
    return nullptr;  // the usual message: no such file
  }
  return set->Open(*rank);
}

}  // namespace reprise
