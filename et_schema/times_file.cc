#include "et_schema/times_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "core/input_file.h"
#include "et_schema/stream_hash.h"

namespace reprise {
namespace {

constexpr std::string_view kTimesMagic = "RPRTIMES";
constexpr std::uint32_t kTimesVersion = 1;
constexpr std::size_t kTimesHeadBytes = kTimesMagic.size() + 2 * sizeof(std::uint32_t);
constexpr int kTimesLevel = 9;  // higher ones take twice the time for 1 % less

template <typename T>
void PutNumber(T value, std::string& out) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
}
template <typename T>
T NumberAt(const char* at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<std::uint8_t>(at[i])) << (8 * i);
  }
  return value;
}

// Reads pieces of the file.
class TimesFile {
 public:
  static Result<TimesFile> Open(const std::string& path) {
    REPRISE_ASSIGN(OpenedInput input, OpenInput(path));
    return TimesFile(path, std::move(input));
  }
  [[nodiscard]] std::uint64_t bytes() const { return input_.bytes; }
  [[nodiscard]] Result<std::string> Piece(std::uint64_t begin, std::uint64_t size) const {
    std::string out;
    if (begin > input_.bytes || size > input_.bytes - begin) {
      return Truncated(begin + size);
    }
    out.resize(size);
    for (std::uint64_t done = 0; done < size;) {
      const ssize_t got = ::pread(input_.descriptor.get(), out.data() + done, size - done,
                                  static_cast<off_t>(begin + done));
      if (got <= 0) {
        return Truncated(begin + size);
      }
      done += static_cast<std::uint64_t>(got);
    }
    return out;
  }

 private:
  TimesFile(std::string path, OpenedInput input)
      : path_(std::move(path)), input_(std::move(input)) {}
  [[nodiscard]] tl::unexpected<Error> Truncated(std::uint64_t expected) const {
    return BadInput(fmt::format("{}: truncated: ends at byte {}, expected {} or more", path_,
                                input_.bytes, expected));
  }

  std::string path_;
  OpenedInput input_;
};

struct Record {
  std::string packed;
  std::uint64_t begin = 0;  // in the file
};

Result<Record> ReadRecord(const std::string& path, std::size_t number, std::size_t ranks) {
  REPRISE_ASSIGN(const TimesFile file, TimesFile::Open(path));
  REPRISE_ASSIGN(const std::string head, file.Piece(0, kTimesHeadBytes));
  if (!head.starts_with(kTimesMagic)) {
    return BadInput(
        fmt::format("{}: no file of times: expected \"{}\" at byte 0; convert the "
                    "capture again",
                    path, kTimesMagic));
  }
  const auto version = NumberAt<std::uint32_t>(head.data() + kTimesMagic.size());
  if (version != kTimesVersion) {
    return BadInput(fmt::format("{}: version {} at byte {}; this Reprise reads version {}", path,
                                version, kTimesMagic.size(), kTimesVersion));
  }
  const auto count = NumberAt<std::uint32_t>(head.data() + kTimesMagic.size() + sizeof(version));
  if (count != ranks) {
    return BadInput(fmt::format("{}: times of {} ranks at byte {}, expected {}, as its class has",
                                path, count, kTimesMagic.size() + sizeof(version), ranks));
  }
  constexpr std::size_t kEndBytes = sizeof(std::uint64_t);
  const std::uint64_t first = kTimesHeadBytes + kEndBytes * std::uint64_t{count};
  const std::uint64_t at = kTimesHeadBytes + kEndBytes * number;
  REPRISE_ASSIGN(const std::string end, file.Piece(at, kEndBytes));
  Record record{.begin = first};
  if (number > 0) {
    REPRISE_ASSIGN(const std::string begin, file.Piece(at - kEndBytes, kEndBytes));
    record.begin = NumberAt<std::uint64_t>(begin.data());
  }
  const auto behind = NumberAt<std::uint64_t>(end.data());
  if (record.begin < first || behind < record.begin) {
    return BadInput(
        fmt::format("{}: the record of a rank is from byte {} to {}, by byte {}: "
                    "damaged",
                    path, record.begin, behind, at));
  }
  REPRISE_ASSIGN(record.packed, file.Piece(record.begin, behind - record.begin));
  return record;
}

Result<std::string> Unpack(const std::string& path, const Record& record,
                           const ReferenceRank& reference) {
  const auto damaged = [&](std::string_view what) {
    return BadInput(
        fmt::format("{}: the record at byte {} is damaged ({})", path, record.begin, what));
  };
  const unsigned long long size =
      ZSTD_getFrameContentSize(record.packed.data(), record.packed.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
    return damaged("no zstd frame of a known size");
  }
  // Equal numbers take no room: what bounds them is the class's file.
  REPRISE_TRY(ExpansionBudget(path).Check(size, record.packed.size() + reference.bytes()));
  std::string out(size, '\0');
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  ZSTD_DCtx_refPrefix(context.get(), reference.header().data(), reference.header().size());
  const std::size_t got = ZSTD_decompressDCtx(context.get(), out.data(), out.size(),
                                              record.packed.data(), record.packed.size());
  if (ZSTD_isError(got) != 0) {
    return damaged(ZSTD_getErrorName(got));
  }
  return got == size ? Result<std::string>(std::move(out)) : damaged("too short");
}

class FoldedSource : public ByteSource {
 public:
  FoldedSource(std::string path, std::string name, std::uint64_t begin, std::uint64_t packed,
               const std::shared_ptr<const ReferenceRank>& reference, std::string record)
      : path_(std::move(path)),
        name_(std::move(name)),
        begin_(begin),
        budget_bytes_(packed + reference->bytes()),
        budget_(path_),
        decoder_(reference, std::move(record)) {
    file_bytes_ = packed + reference->file_bytes();
  }

  Status Start() {
    if (!decoder_.Start()) {
      return Damaged("its columns cannot be told apart");
    }
    REPRISE_TRY(CheckNodeCount(path_, decoder_.nodes(), begin_, file_bytes_));
    PutMessage(decoder_.header());
    return Produced();
  }

  Result<std::size_t> Read(std::span<std::uint8_t> out) override {
    while (at_ == pending_.size()) {
      if (ended_) {
        return 0;
      }
      REPRISE_TRY(Fill());
    }
    const std::size_t size = std::min(out.size(), pending_.size() - at_);
    std::memcpy(out.data(), pending_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Damaged(std::string_view what) const {
    return BadInput(
        fmt::format("{}: the record of {} at byte {} is damaged: {}; after {} bytes of "
                    "that file",
                    path_, name_, begin_, what, produced_));
  }
  void PutMessage(std::string_view message) {
    length_.clear();
    length_.Varint(message.size());
    pending_.append(length_.bytes());
    pending_.append(message);
  }
  Status Produced() {
    produced_ += pending_.size();
    hash_.Add(pending_);
    return budget_.Check(produced_, budget_bytes_);
  }
  // As much as a reader asks for, as a rule.
  Status Fill() {
    constexpr std::size_t kFillBytes = std::size_t{1} << 16;
    if (at_ > 0) {
      pending_.clear();
      at_ = 0;
    }
    while (pending_.size() < kFillBytes && !decoder_.AtEnd()) {
      std::string_view message;
      if (!decoder_.Next(message)) {
        return Damaged("a node's numbers are missing");
      }
      PutMessage(message);
    }
    REPRISE_TRY(Produced());
    ended_ = decoder_.AtEnd();
    if (ended_ && !decoder_.Complete()) {
      return Damaged("numbers are left over");
    }
    if (ended_ && hash_.Hex() != decoder_.hash()) {
      return Damaged("its checksum is another; the class's file is another, perhaps");
    }
    return {};
  }

  std::string path_, name_;
  std::uint64_t begin_;
  std::uint64_t budget_bytes_;
  ExpansionBudget budget_;
  RankDecoder decoder_;
  StreamHash hash_;
  WireBuffer length_;
  std::string pending_;
  std::size_t at_ = 0;
  std::uint64_t produced_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::string> PackRecord(const ReferenceRank& reference, const std::string& record) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kTimesLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_refPrefix(context.get(), reference.header().data(), reference.header().size());
  std::string out(ZSTD_compressBound(record.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), record.data(), record.size());
  if (ZSTD_isError(size) != 0) {
    return EnvironmentError(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  }
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

Result<std::unique_ptr<TimesWriter>> TimesWriter::Create(const std::string& path,
                                                         std::size_t ranks) {
  REPRISE_ASSIGN(auto sink, ByteSink::Create(path));
  std::string head(kTimesMagic);
  PutNumber(kTimesVersion, head);
  PutNumber(static_cast<std::uint32_t>(ranks), head);
  const std::uint64_t first = head.size() + sizeof(std::uint64_t) * ranks;
  head.resize(first);  // where records end: Close
  REPRISE_TRY(sink->Write(head));
  return std::unique_ptr<TimesWriter>(new TimesWriter(std::move(sink), first));
}

Status TimesWriter::Add(const std::string& packed) {
  end_ += packed.size();
  PutNumber(end_, ends_);
  return sink_->Write(packed);
}

Status TimesWriter::Close() {
  REPRISE_TRY(sink_->Patch(kTimesHeadBytes, ends_));
  return sink_->Commit();
}

Result<std::unique_ptr<ByteSource>> OpenTimes(const std::string& path, std::size_t number,
                                              std::size_t ranks,
                                              const std::shared_ptr<const ReferenceRank>& reference,
                                              const std::string& name) {
  REPRISE_ASSIGN(const Record record, ReadRecord(path, number, ranks));
  REPRISE_ASSIGN(std::string unpacked, Unpack(path, record, *reference));
  auto source = std::make_unique<FoldedSource>(path, name, record.begin, record.packed.size(),
                                               reference, std::move(unpacked));
  REPRISE_TRY(source->Start());
  return source;
}

}  // namespace reprise
