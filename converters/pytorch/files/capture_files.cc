#include "converters/pytorch/files/capture_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "converters/other_forms.h"
#include "converters/pytorch/files/captured_file.h"
#include "converters/pytorch/files/export_ranks.h"
#include "converters/pytorch/files/file_ranks.h"
#include "converters/pytorch/files/separate_captures.h"
#include "converters/text_source.h"
#include "core/bytes.h"
#include "core/counted.h"
#include "core/date_text.h"
#include "core/input_file.h"
#include "core/nearest.h"
#include "core/parallel.h"
#include "et_schema/folded_set.h"
#include "et_schema/rank_classes.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;

// "distributedInfo" comes after some kB of device properties.
constexpr std::size_t kHeadBytes = 1 << 17;
constexpr std::size_t kMostLookedInto = 65'536;

std::string KindsText(const Capture& capture) {
  return !capture.Has(&RankFiles::kineto) ? "host traces alone"
         : !capture.Has(&RankFiles::host) ? "Kineto alone"
                                          : "host traces and Kineto";
}

// "iteration_5   8 ranks, Kineto alone, 120.30 MB, 2026-11-21 02:20:06 UTC".
std::string Line(const Capture& capture, std::size_t width) {
  std::string text = fmt::format("  {:<{}}  {}, {}, {}", capture.name, width,
                                 Counted(capture.ranks.size(), "rank"), KindsText(capture),
                                 SizeText(static_cast<std::int64_t>(capture.bytes)));
  constexpr std::int64_t kYear2000S = 946'684'800;  // earlier: times since a machine's start
  const std::int64_t start_s = capture.start_ns / 1'000'000'000;
  if (start_s >= kYear2000S) {
    text += fmt::format(", {} UTC", DateText(start_s));
  }
  return text;
}

class CaptureFinder {
 public:
  CaptureFinder(std::string directory, const CaptureChoice& choice, Diagnostics& diagnostics)
      : directory_(std::move(directory)), choice_(choice), diagnostics_(diagnostics) {}

  Result<std::vector<RankFiles>> Run() {
    REPRISE_TRY(ListOwn());
    REPRISE_TRY(LookIntoOthers());
    if (!HasKind(CaptureKind::kHost) || !HasKind(CaptureKind::kKineto)) {
      REPRISE_TRY(ListFolders());
      REPRISE_TRY(LookIntoOthers());
    }
    for (const std::string& path : unfinished_) {
      diagnostics_.Count("unfinished_capture_file", path);
    }
    if (!HasKind(CaptureKind::kHost) && !HasKind(CaptureKind::kKineto)) {
      return NothingHere();
    }
    REPRISE_TRY(FindRanks(directory_, files_, choice_.rank_pattern));
    REPRISE_ASSIGN(const std::vector<Capture> captures, SeparateCaptures(files_));
    REPRISE_ASSIGN(const Capture* capture, Choose(captures));
    return Complete(*capture);
  }

 private:
  [[nodiscard]] bool HasKind(CaptureKind kind) const {
    return std::ranges::any_of(files_,
                               [kind](const CapturedFile& file) { return file.head.kind == kind; });
  }

  void Add(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    CapturedFile file{
        .path = entry.path().string(),
        .name = fs::path(entry.path()).lexically_relative(directory_).generic_string()};
    std::error_code error;
    file.bytes = entry.file_size(error);
    file.bytes = error ? 0 : file.bytes;
    if (const auto own = ParseOwnName(name)) {
      file.head.kind = own->kind;
      file.rank = own->rank;
      files_.push_back(std::move(file));
    } else if (IsUnfinishedName(name)) {
      unfinished_.push_back(file.path);
    } else if (IsCaptureName(name)) {
      others_.push_back(std::move(file));
    } else if (entry.is_regular_file(error) && not_json_.size() < 16) {
      not_json_.push_back(file.path);
    }
  }

  // Lists the files of the directory itself.
  Status ListOwn() {
    std::error_code error;
    for (fs::directory_iterator it(directory_, error), end; !error && it != end;
         it.increment(error)) {
      if (std::error_code ignored; !it->is_directory(ignored)) {
        Add(*it);
      }
    }
    return Sorted(error);
  }

  // Lists the files of its folders.
  Status ListFolders() {
    std::error_code error;
    for (fs::recursive_directory_iterator it(directory_, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code ignored;
      if (it->is_directory(ignored)) {
        if (it.depth() >= kFoldersDeep || it->path().filename().string().starts_with('.')) {
          it.disable_recursion_pending();
        }
      } else if (it.depth() > 0) {
        Add(*it);
      }
      if (others_.size() > kMostLookedInto) {
        return BadInput(
            fmt::format("{}: over {} JSON files in it and its folders; name the folder that holds "
                        "the capture",
                        directory_, kMostLookedInto));
      }
    }
    return Sorted(error);
  }

  Status Sorted(const std::error_code& error) {
    if (error) {
      return CannotList(directory_, error);
    }
    std::ranges::sort(files_, {}, &CapturedFile::name);
    std::ranges::sort(others_, {}, &CapturedFile::name);
    std::ranges::sort(not_json_);
    std::ranges::sort(unfinished_);
    return {};
  }

  // Looks into files of other names for the kinds that are still missing.
  Status LookIntoOthers() {
    REPRISE_TRY(OpenExports(others_, &diagnostics_));
    const bool hosts = HasKind(CaptureKind::kHost);
    const bool kinetos = HasKind(CaptureKind::kKineto);
    if (!hosts || !kinetos) {
      ForEachInParallel(others_.size(), [this](std::size_t i) {
        if (others_[i].head.kind == CaptureKind::kOther) {
          others_[i].head = SniffText(ReadHead(others_[i].path, kHeadBytes));
        }
      });
    }
    for (CapturedFile& file : others_) {
      looked_into_.push_back(file.path);
      if ((file.head.kind == CaptureKind::kHost && !hosts) ||
          (file.head.kind == CaptureKind::kKineto && !kinetos)) {
        files_.push_back(std::move(file));
      }
    }
    others_.clear();
    return {};
  }

  [[nodiscard]] Result<std::vector<RankFiles>> NothingHere() const {
    if (FoldedSet::Present(directory_)) {
      return BadInput(
          fmt::format("{}: a folded capture, written by Reprise already; `reprise "
                      "convert --expand` writes one file a rank",
                      directory_));
    }
    if (RankClasses::Present(directory_)) {
      return BadInput(fmt::format(
          "{}: a folded set, written by Reprise already; there is nothing to convert", directory_));
    }
    if (!unfinished_.empty()) {
      return BadInput(fmt::format(
          "{}: was begun by a capture whose process was killed or lost its disk, and there is no "
          "other file; remove it, and capture again",
          unfinished_.front()));
    }
    for (const auto* const paths : {&not_json_, &looked_into_}) {  // an archive, perhaps
      for (const std::string& path : *paths) {
        REPRISE_TRY(CheckForm(path));
      }
    }
    std::string seen;
    constexpr std::size_t kMostNamed = 3;
    for (std::size_t i = 0; i < std::min(looked_into_.size(), kMostNamed); ++i) {
      seen += fmt::format("{}{}", i == 0 ? "; looked into " : ", ", looked_into_[i]);
    }
    if (looked_into_.size() > kMostNamed) {
      seen += fmt::format(" and {} more", looked_into_.size() - kMostNamed);
    }
    return BadInput(fmt::format(
        "{}: no captures here: expected rank<N>.et.json and rank<N>.kineto.json, or other JSON "
        "files of PyTorch's host trace (\"schema\", \"nodes\") and profiler (\"traceEvents\", or "
        "Perfetto's packets as .pftrace), each perhaps with .gz or .zst, or exports of Nsight "
        "Systems (.sqlite), or results of rocprofv3 (.db, .json), or profiles of JAX "
        "(.xplane.pb){}",
        directory_, seen));
  }

  [[nodiscard]] Result<const Capture*> Choose(const std::vector<Capture>& captures) const {
    if (choice_.name.empty() && captures.size() == 1) {
      return &captures.front();
    }
    std::vector<std::string> names;
    std::size_t width = 0;
    for (const Capture& capture : captures) {
      if (capture.name == choice_.name) {
        return &capture;
      }
      names.push_back(capture.name);
      width = std::max(width, capture.name.size());
    }
    std::string text =
        choice_.name.empty()
            ? fmt::format("{}: holds {} captures; choose one with --capture NAME:", directory_,
                          captures.size())
            : fmt::format("{}: holds no capture '{}'{}; there are:", directory_, choice_.name,
                          DidYouMean(choice_.name, names));
    constexpr std::size_t kMostLines = 20;
    for (std::size_t i = 0; i < std::min(captures.size(), kMostLines); ++i) {
      text += "\n" + Line(captures[i], width);
    }
    if (captures.size() > kMostLines) {
      text += fmt::format("\n  … and {} more", captures.size() - kMostLines);
    }
    return BadInput(text);
  }

  [[nodiscard]] Result<std::vector<RankFiles>> Complete(const Capture& capture) const {
    const bool hosts = capture.Has(&RankFiles::host);
    const bool kinetos = capture.Has(&RankFiles::kineto);
    std::vector<RankFiles> out;
    for (const auto& [rank, files] : capture.ranks) {
      if (files.host.empty() && files.kineto.empty()) {
        continue;
      }
      if (rank != static_cast<std::int32_t>(out.size())) {
        return BadInput(fmt::format(
            "{}: rank {} is missing (rank {} is there); copy the missing captures here, or convert "
            "one file: {}",
            directory_, out.size(), rank, files.kineto.empty() ? files.host : files.kineto));
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

  const std::string directory_;
  const CaptureChoice& choice_;
  Diagnostics& diagnostics_;
  std::vector<CapturedFile> files_;   // of captures
  std::vector<CapturedFile> others_;  // JSON or packets, of other names
  std::vector<std::string> looked_into_, not_json_, unfinished_;
};

}  // namespace

Result<std::vector<RankFiles>> FindCaptures(const std::string& directory,
                                            const CaptureChoice& choice, Diagnostics& diagnostics) {
  return CaptureFinder(directory, choice, diagnostics).Run();
}

Result<std::vector<RankFiles>> RanksOfFile(const std::string& path) {
  std::vector<CapturedFile> files = {{.path = path, .name = path}};
  REPRISE_TRY(OpenExports(files, nullptr));
  std::vector<RankFiles> out;
  out.reserve(files.size());
  for (const CapturedFile& file : files) {
    out.push_back({.rank = files.size() > 1 ? file.rank : -1,
                   .host = {},
                   .kineto = path,
                   .meta = {},
                   .profiler = file.profiler,
                   .kineto_process = file.of_process});
  }
  return out;
}

CaptureKind KindOf(const std::string& path) {
  return ProfilerOf(path).empty() ? SniffText(ReadHead(path, kHeadBytes)).kind
                                  : CaptureKind::kKineto;
}

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
            : IsCaptureName(name) && left-- > 0 && sniff(it->path().string())) {
      return true;
    }
  }
  return false;
}

}  // namespace reprise::pytorch
