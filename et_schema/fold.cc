#include "et_schema/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/input_file.h"
#include "core/parallel.h"
#include "et_schema/byte_stream.h"
#include "et_schema/folded_set.h"
#include "et_schema/message_reader.h"
#include "et_schema/rank_columns.h"
#include "et_schema/stream_hash.h"
#include "et_schema/times_file.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCopyBytes = std::size_t{1} << 18;

// How many nodes have each form, by the hash of its key.
struct FormCounts {
  std::unordered_map<std::size_t, std::uint32_t> counts;
  std::uint64_t nodes = 0;
};

Result<FormCounts> CountForms(const std::string& path) {
  REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(path));
  FormCounts out;
  std::string key;
  std::vector<std::int64_t> numbers;
  std::string_view message;
  REPRISE_ASSIGN(bool more, messages.Next(message));
  while (more) {
    REPRISE_ASSIGN(more, messages.Next(message));
    if (more) {
      SplitMessage(message, key, numbers);
      ++out.counts[std::hash<std::string_view>{}(key)];
      ++out.nodes;
    }
  }
  return out;
}

// Three of four nodes, of either.
bool AreAlike(const FormCounts& a, const FormCounts& b) {
  std::uint64_t shared = 0;
  for (const auto& [form, count] : a.counts) {
    const auto other = b.counts.find(form);
    shared += other == b.counts.end() ? 0 : std::min(count, other->second);
  }
  return shared * 4 >= std::max(a.nodes, b.nodes) * 3;
}

// `task(i)` for each i, as many at a time as there are cores; then `take(i)` in order. The first
// error ends it.
template <typename Task, typename Take>
Status InBatches(std::size_t count, const Task& task, const Take& take) {
  const auto batch = 2 * static_cast<std::size_t>(OwnCores());
  for (std::size_t begin = 0; begin < count; begin += batch) {
    const std::size_t size = std::min(batch, count - begin);
    ForEachInParallel(size, [&](std::size_t i) { task(begin + i); });
    for (std::size_t i = begin; i < begin + size; ++i) {
      REPRISE_TRY(take(i));
    }
  }
  return {};
}

using Files = std::vector<std::pair<std::int32_t, std::string>>;  // rank, path

// Places in `files`, by class; the first is the one to which the others are differences.
Result<std::vector<std::vector<std::size_t>>> ChooseClasses(const Files& files) {
  std::vector<std::optional<Result<FormCounts>>> counts(files.size());
  std::vector<std::vector<std::size_t>> classes;
  std::vector<FormCounts> of_class;
  REPRISE_TRY(InBatches(
      files.size(), [&](std::size_t i) { counts[i] = CountForms(files[i].second); },
      [&](std::size_t i) -> Status {
        REPRISE_ASSIGN(FormCounts own, std::move(*counts[i]));
        counts[i].reset();
        const auto known = std::ranges::find_if(
            of_class, [&own](const FormCounts& other) { return AreAlike(own, other); });
        if (known != of_class.end()) {
          classes[static_cast<std::size_t>(known - of_class.begin())].push_back(i);
        } else {
          of_class.push_back(std::move(own));
          classes.push_back({i});
        }
        return {};
      }));
  return classes;
}

// The bytes of a file as one hash, its length on the way; `take` gets each piece.
template <typename TakePiece>
Status ReadAll(const std::string& path, const TakePiece& take) {
  REPRISE_ASSIGN(const auto source, ByteSource::Open(path));
  std::vector<std::uint8_t> piece(kCopyBytes);
  while (true) {
    REPRISE_ASSIGN(const std::size_t got, source->Read(piece));
    if (got == 0) {
      return {};
    }
    REPRISE_TRY(take(std::string_view(reinterpret_cast<const char*>(piece.data()), got)));
  }
}

Status CopyUnpacked(const std::string& from, const std::string& to) {
  REPRISE_ASSIGN(const auto sink, ByteSink::Create(to));
  REPRISE_TRY(ReadAll(from, [&](std::string_view piece) { return sink->Write(piece); }));
  return sink->Commit();
}

// What a rank's file becomes, packed.
Result<std::string> RecordOf(const std::shared_ptr<const ReferenceRank>& reference,
                             const std::string& path) {
  StreamHash hash;
  REPRISE_TRY(ReadAll(path, [&hash](std::string_view piece) -> Status {
    hash.Add(piece);
    return {};
  }));
  REPRISE_ASSIGN(MessageReader messages, MessageReader::Open(path));
  std::string_view message;
  REPRISE_ASSIGN(bool more, messages.Next(message));
  const std::string header(message);
  RankEncoder encoder(reference);
  while (more) {
    REPRISE_ASSIGN(more, messages.Next(message));
    if (more) {
      encoder.Add(message);
    }
  }
  return PackRecord(*reference, encoder.Finish(header, hash.Hex()));
}

// Reads the rank as it will be read; its checksum is compared on the way.
Status CheckRank(const std::string& times, std::size_t number, std::size_t ranks,
                 const std::shared_ptr<const ReferenceRank>& reference, const std::string& path) {
  REPRISE_ASSIGN(const auto source, OpenTimes(times, number, ranks, reference, path));
  std::vector<std::uint8_t> piece(kCopyBytes);
  while (true) {
    const Result<std::size_t> got = source->Read(piece);
    if (!got) {
      return BadInput(
          fmt::format("{}: cannot be folded without loss: its messages are not as "
                      "Reprise writes them; `reprise convert` it first",
                      path));
    }
    if (*got == 0) {
      return {};
    }
  }
}

Status FoldClass(const Files& files, const std::vector<std::size_t>& of_class,
                 const std::string& directory, const AlikeRanks& names) {
  const std::string file = (fs::path(directory) / names.file).string();
  REPRISE_TRY(CopyUnpacked(files[of_class.front()].second, file));
  REPRISE_ASSIGN(const auto reference, ReferenceRank::Read(file));
  const std::string times = (fs::path(directory) / names.times).string();
  REPRISE_ASSIGN(const auto writer, TimesWriter::Create(times, of_class.size()));
  std::vector<Result<std::string>> records(of_class.size());
  REPRISE_TRY(InBatches(
      of_class.size(),
      [&](std::size_t i) { records[i] = RecordOf(reference, files[of_class[i]].second); },
      [&](std::size_t i) -> Status {
        REPRISE_ASSIGN(const std::string record, std::move(records[i]));
        records[i] = std::string();
        return writer->Add(record);
      }));
  REPRISE_TRY(writer->Close());
  std::vector<Status> checks(of_class.size());
  return InBatches(
      of_class.size(),
      [&](std::size_t i) {
        checks[i] = CheckRank(times, i, of_class.size(), reference, files[of_class[i]].second);
      },
      [&](std::size_t i) { return checks[i]; });
}

}  // namespace

Result<FoldSummary> FoldInto(const TraceSet& set, const std::string& directory,
                             const std::string& name) {
  if (set.classes || set.folded) {
    return BadInput(
        fmt::format("{}: a folded set already; there is nothing to fold", set.directory));
  }
  const Files files(set.files.begin(), set.files.end());
  FoldSummary summary{.ranks = static_cast<std::int64_t>(files.size())};
  std::error_code error;
  for (const auto& [rank, path] : files) {
    summary.bytes_before += fs::file_size(path, error);
  }
  REPRISE_ASSIGN(const auto chosen, ChooseClasses(files));
  std::vector<AlikeRanks> classes;
  for (const std::vector<std::size_t>& of_class : chosen) {
    const std::string stem = fmt::format("{}.class{}", name, classes.size());
    AlikeRanks names{.file = stem + ".et.zst", .times = stem + ".times"};
    for (const std::size_t place : of_class) {
      names.ranks.push_back(files[place].first);
    }
    REPRISE_TRY(FoldClass(files, of_class, directory, names));
    for (const std::string& file : {names.file, names.times}) {
      summary.bytes_after += fs::file_size(fs::path(directory) / file, error);
    }
    classes.push_back(std::move(names));
  }
  summary.classes = static_cast<std::int64_t>(classes.size());
  REPRISE_TRY(FoldedSet::Write(directory, name, classes));
  return summary;
}

Result<FoldSummary> ExpandInto(const TraceSet& set, const std::string& directory,
                               const std::string& name) {
  if (!set.folded) {
    return BadInput(fmt::format(
        "{}: {}", set.directory,
        set.classes ? "ranks of a class are equal in this folded set, whose classes' files "
                      "`reprise generate --expand` writes as one file a rank"
                    : "no folded set: there is nothing to expand"));
  }
  if (set.files.size() > CurrentInputLimits().files) {
    return OverLimit(set.directory, fmt::format("{} ranks, each a file", set.files.size()),
                     "files");
  }
  FoldSummary summary{.ranks = static_cast<std::int64_t>(set.files.size()),
                      .classes = static_cast<std::int64_t>(set.folded->classes().size())};
  std::error_code error;
  for (const AlikeRanks& one : set.folded->classes()) {
    for (const std::string& file : {one.file, one.times}) {
      summary.bytes_before += fs::file_size(fs::path(set.directory) / file, error);
    }
  }
  for (const auto& [rank, path] : set.files) {
    const std::string to = (fs::path(directory) / fmt::format("{}.{}.et", name, rank)).string();
    REPRISE_TRY(CopyUnpacked(path, to));
    summary.bytes_after += fs::file_size(to, error);
  }
  return summary;
}

}  // namespace reprise
