#include "converters/pytorch/rank/capture_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "converters/other_forms.h"
#include "converters/pytorch/rank/capture_names.h"
#include "converters/text_source.h"
#include "core/input_file.h"
#include "et_schema/rank_classes.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;

// "distributedInfo" comes after some kB of device properties.
constexpr std::size_t kHeadBytes = 1 << 17;

constexpr std::string_view kFlags =
    "name them rank<N>.et.json and rank<N>.kineto.json, or convert one rank with --host-trace, "
    "--device-trace and --rank";

struct Sniffed {
  std::string path;
  NamedCapture capture;
};

class CaptureFinder {
 public:
  CaptureFinder(std::string directory, Diagnostics& diagnostics)
      : directory_(std::move(directory)), diagnostics_(diagnostics) {}

  Result<std::vector<RankFiles>> Run() {
    REPRISE_TRY(ListFiles());
    const bool hosts = Has(&RankFiles::host);
    const bool kinetos = Has(&RankFiles::kineto);
    if (!hosts) {
      REPRISE_TRY(AddOthers(CaptureKind::kHost));
    }
    if (!kinetos) {
      REPRISE_TRY(AddOthers(CaptureKind::kKineto));
    }
    std::erase_if(found_, [](const auto& rank) {
      return rank.second.host.empty() && rank.second.kineto.empty();
    });
    if (found_.empty() && RankClasses::Present(directory_)) {
      return BadInput(fmt::format(
          "{}: a folded set, written by Reprise already; there is nothing to convert", directory_));
    }
    if (found_.empty() && !unfinished_.empty()) {
      return BadInput(fmt::format(
          "{}: was begun by a capture whose process was killed or lost its disk, and there is no "
          "other file; remove it, and capture again",
          unfinished_.front()));
    }
    for (const std::string& path : unfinished_) {
      diagnostics_.Count("unfinished_capture_file", path);
    }
    if (found_.empty()) {
      for (const std::string& path : not_json_) {  // an archive of captures, perhaps
        REPRISE_TRY(CheckForm(path));
      }
      return BadInput(
          fmt::format("{}: no captures here: expected rank<N>.et.json[.gz|.zst] and "
                      "rank<N>.kineto.json[.gz|.zst]",
                      directory_));
    }
    return Complete();
  }

 private:
  static std::string& Slot(RankFiles& files, CaptureKind kind) {
    return kind == CaptureKind::kHost     ? files.host
           : kind == CaptureKind::kKineto ? files.kineto
                                          : files.meta;
  }

  [[nodiscard]] bool Has(std::string RankFiles::*member) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const auto& rank) { return !(rank.second.*member).empty(); });
  }

  Status ListFiles() {
    std::error_code error;
    for (fs::directory_iterator it(directory_, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (const auto own = ParseOwnName(name)) {
        REPRISE_TRY(Put(it->path().string(), *own));
      } else if (IsUnfinishedName(name)) {
        unfinished_.push_back(it->path().string());
      } else if (IsJsonName(name)) {
        others_.push_back(it->path().string());
      } else if (std::error_code ignored; it->is_regular_file(ignored) && not_json_.size() < 16) {
        not_json_.push_back(it->path().string());
      }
    }
    if (error) {
      return CannotList(directory_, error);
    }
    std::sort(others_.begin(), others_.end());
    std::sort(not_json_.begin(), not_json_.end());
    std::sort(unfinished_.begin(), unfinished_.end());
    return {};
  }

  Status Put(const std::string& path, const NamedCapture& capture) {
    RankFiles& files = found_[capture.rank];
    files.rank = capture.rank;
    std::string& slot = Slot(files, capture.kind);
    if (!slot.empty()) {
      return BadInput(fmt::format("{} and {}: two files for one rank ({}); remove one, or {}", slot,
                                  path, capture.rank, kFlags));
    }
    slot = path;
    return {};
  }

  Status AddOthers(CaptureKind kind) {
    std::vector<Sniffed> files;
    for (const std::string& path : others_) {
      Sniffed file{path, SniffText(ReadHead(path, kHeadBytes))};
      const std::int32_t named = RankInName(fs::path(path).filename().string());
      if (file.capture.kind != kind) {
        continue;
      }
      if (named >= 0 && file.capture.rank >= 0 && named != file.capture.rank) {
        return BadInput(fmt::format("{}: is of rank {} by its name, of rank {} by its content; {}",
                                    path, named, file.capture.rank, kFlags));
      }
      file.capture.rank = std::max(named, file.capture.rank);
      files.push_back(std::move(file));
    }
    // One file alone is of the one rank that is there.
    if (files.size() == 1 && files[0].capture.rank < 0 && found_.size() <= 1) {
      files[0].capture.rank = found_.empty() ? 0 : found_.begin()->first;
    }
    // One host trace that does not say, found before its Kineto file that does.
    if (files.size() == 1 && kind == CaptureKind::kKineto && found_.size() == 1 &&
        rank_is_a_guess_ && !found_.contains(files[0].capture.rank)) {
      auto only = found_.extract(found_.begin());
      only.key() = only.mapped().rank = files[0].capture.rank;
      found_.insert(std::move(only));
    }
    std::string unclear;
    for (const Sniffed& file : files) {
      if (file.capture.rank < 0) {
        unclear += fmt::format("{}{}", unclear.empty() ? "" : ", ", file.path);
      }
    }
    if (!unclear.empty()) {
      return BadInput(fmt::format("{}: neither names nor contents tell the rank of {}; {}",
                                  directory_, unclear, kFlags));
    }
    for (const Sniffed& file : files) {
      rank_is_a_guess_ =
          files.size() == 1 && RankInName(fs::path(file.path).filename().string()) < 0;
      REPRISE_TRY(Put(file.path, file.capture));
    }
    return {};
  }

  [[nodiscard]] Result<std::vector<RankFiles>> Complete() const {
    const bool hosts = Has(&RankFiles::host);
    const bool kinetos = Has(&RankFiles::kineto);
    std::vector<RankFiles> out;
    for (const auto& [rank, files] : found_) {
      if (rank != static_cast<std::int32_t>(out.size())) {
        return BadInput(
            fmt::format("{}: rank {} is missing (rank {} is there)", directory_, out.size(), rank));
      }
      if ((files.host.empty() && hosts) || (files.kineto.empty() && kinetos)) {
        return BadInput(fmt::format(
            "{}: rank {} has no {} file", directory_, rank,
            files.host.empty() ? "rank<N>.et.json (host trace)" : "rank<N>.kineto.json (Kineto)"));
      }
      out.push_back(files);
    }
    return out;
  }

  std::string directory_;
  Diagnostics& diagnostics_;
  std::map<std::int32_t, RankFiles> found_;
  std::vector<std::string> others_, not_json_, unfinished_;
  bool rank_is_a_guess_ = false;
};

}  // namespace

Result<std::vector<RankFiles>> FindCaptures(const std::string& directory,
                                            Diagnostics& diagnostics) {
  return CaptureFinder(directory, diagnostics).Run();
}

CaptureKind KindOf(const std::string& path) { return SniffText(ReadHead(path, kHeadBytes)).kind; }

bool LooksLikeCapture(const std::string& path) {
  const auto sniff = [](const std::string& file) { return KindOf(file) != CaptureKind::kOther; };
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return sniff(path);
  }
  int left = 16;  // foreign names cost a look inside
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const auto own = ParseOwnName(name);
    if (IsUnfinishedName(name)) {
      return true;
    }
    if (own ? own->kind != CaptureKind::kMeta
            : IsJsonName(name) && left-- > 0 && sniff(it->path().string())) {
      return true;
    }
  }
  return false;
}

}  // namespace reprise::pytorch
