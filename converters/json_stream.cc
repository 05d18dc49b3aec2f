#include "converters/json_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "converters/per_thread.h"
#include "core/input_file.h"
#include "core/ordered_pipeline.h"
#include "core/parallel.h"
#include "core/text.h"

namespace reprise {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
// Parsed text and its tape should stay in a core's cache.
constexpr std::size_t kBatchBytes = 128 << 10;
constexpr std::size_t kMaxFrameBytes = 64 << 20;

std::string NewBuffer(std::string used, std::size_t bytes) {
  used.resize(std::max(used.size(), bytes + 1 + TextFile::kPadding));
  return used;
}

}  // namespace

JsonStream::JsonStream(TextSource& source, std::string_view array_key, std::string_view kept_array,
                       bool list_too)
    : source_(source),
      array_key_(array_key),
      kept_array_(kept_array),
      list_too_(list_too),
      chunk_(NewBuffer({}, kBatchBytes)) {}

Result<bool> JsonStream::ReadMore() {
  if (begin_ > 1 && begin_ == end_) {
    begin_ = end_ = 1;
  }
  const std::size_t most = chunk_.size() - TextFile::kPadding;
  if (end_ == most) {  // one element larger than the buffer
    if (const std::uint64_t limit = CurrentInputLimits().string_bytes; most > limit) {
      return OverLimit(
          source_.path(),
          fmt::format("one element of more than {} bytes, from byte {}", limit, at_byte_),
          "string_bytes");
    }
    chunk_ = NewBuffer(std::move(chunk_), 2 * most);
  }
  REPRISE_ASSIGN(const std::size_t got,
                 source_.Read(chunk_.data() + end_, chunk_.size() - TextFile::kPadding - end_));
  end_ += got;
  return got != 0;
}

void JsonStream::ReadFrameByte(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      key_end_ = depth_ == 1 ? frame_.size() : key_end_;
    }
    return;
  }
  const bool was_after_colon = std::exchange(after_colon_, after_colon_ && IsJsonSpace(c));
  switch (c) {
    case '"':
      in_string_ = true;
      key_begin_ = depth_ == 1 ? frame_.size() + 1 : key_begin_;
      break;
    case ':':
      after_colon_ = depth_ == 1;
      break;
    case '[':
      if (depth_ == 0) {
        is_list_ = wanted_ = true;
        state_ = State::kArray;
        scanner_.Begin();
        scanned_ = 0;
      } else if (const auto key =
                     std::string_view(frame_).substr(key_begin_, key_end_ - key_begin_);
                 was_after_colon && (kept_array_.empty() || key != kept_array_)) {
        state_ = State::kArray;
        wanted_ = key == array_key_;
        scanner_.Begin();
        scanned_ = 0;
      }
      [[fallthrough]];
    case '{':
      ++depth_;
      break;
    case ']':
    case '}':
      object_ended_ = --depth_ == 0;
      break;
    default:
      break;
  }
}

// Stops at an array of the object, and where it is clear that this is no object alone.
Status JsonStream::ReadFrame() {
  while (begin_ != end_ && state_ == State::kFrame) {
    const char c = chunk_[begin_++];
    ++at_byte_;
    const bool space = IsJsonSpace(c);
    if (object_ended_ && space) {
      ++left_out_bytes_;
      continue;
    }
    if (object_ended_) {
      gaps_.push_back({frame_.size(), left_out_bytes_});
    }
    if (!space && (object_ended_ || (depth_ == 0 && c != '{' && !(list_too_ && c == '[')))) {
      state_ = State::kDone;
    } else {
      ReadFrameByte(c);
    }
    left_out_bytes_ = 0;
    frame_ += c;
  }
  if (frame_.size() > kMaxFrameBytes) {
    return BadInput(fmt::format("{}: more than {} MiB outside of lists, up to byte {}: no capture",
                                source_.path(), kMaxFrameBytes >> 20U, at_byte_));
  }
  return {};
}

void JsonStream::Drop(std::size_t until) {
  at_byte_ += until - begin_;
  left_out_bytes_ += until - begin_;
  begin_ = until;
  scanned_ = 0;
}

// chunk_[begin_, end) as an array, closed as it was; what follows moves to the other buffer.
void JsonStream::Emit(std::size_t end, bool last, std::string& buffer, JsonBatch& batch) {
  buffer = NewBuffer(std::move(buffer), std::max(kBatchBytes, end_ - end));
  std::memcpy(buffer.data() + 1, chunk_.data() + end, end_ - end);
  const std::size_t size = end - begin_;
  if (begin_ != 1) {
    std::memmove(chunk_.data() + 1, chunk_.data() + begin_, size);
  }
  // Else the text ended: the splitter reports it. A list of events may end so.
  const bool closed = end != end_ || is_list_;
  chunk_[0] = '[';
  chunk_[size + 1] = !closed ? '\0' : last && end != end_ ? buffer[1] : ']';
  const std::size_t at_byte = at_byte_;
  begin_ = 1;
  Drop(1 + size);
  batch.text = TextFile::FromParts(source_.path(), std::move(chunk_), size + (closed ? 2 : 1),
                                   {{0, at_byte - 1}});
  batch.last = last;
  chunk_ = std::move(buffer);
  end_ = end_ - end + 1;
  begin_ = 1;
}

// True: a batch was cut off. Otherwise the array continues, or ended, or the text did.
bool JsonStream::CutArray(bool ended, std::string& buffer, JsonBatch& batch) {
  const std::string_view rest(chunk_.data() + begin_ + scanned_, end_ - begin_ - scanned_);
  const std::size_t base = begin_ + scanned_;
  const ArrayScanner::Found found = scanner_.Scan(rest, ended);
  scanned_ += found.scanned;
  const std::size_t scanned_end = begin_ + scanned_;
  const bool last = found.end != kNone;
  if (!last && found.comma == kNone) {
    return false;
  }
  const std::size_t end = base + (last ? found.end : found.comma);
  if (wanted_) {
    Emit(end, last, buffer, batch);
  } else {
    Drop(end);
  }
  if (last) {
    state_ = State::kFrame;
    gaps_.push_back({frame_.size(), left_out_bytes_});
    left_out_bytes_ = 0;
    return wanted_;
  }
  Drop(begin_ + 1);  // the comma
  scanned_ = scanned_end - end - 1;
  return wanted_;
}

Result<bool> JsonStream::Next(std::string buffer, JsonBatch& batch) {
  for (;;) {
    if (state_ == State::kFrame) {
      REPRISE_TRY(ReadFrame());
    }
    if (state_ == State::kDone) {
      return false;
    }
    bool more = true;
    // Full buffers only: where batches end must not depend on how fast the file comes.
    while (more &&
           (state_ == State::kArray ? end_ < chunk_.size() - TextFile::kPadding : begin_ == end_)) {
      REPRISE_ASSIGN(more, ReadMore());
    }
    if (state_ == State::kArray) {
      if (CutArray(!more, buffer, batch)) {
        return true;
      }
      if (state_ == State::kArray && more && !wanted_ && begin_ > 1) {
        std::memmove(chunk_.data() + 1, chunk_.data() + begin_, end_ - begin_);
        end_ -= begin_ - 1;
        begin_ = 1;
      }
      if (state_ == State::kArray && more && end_ == chunk_.size() - TextFile::kPadding) {
        REPRISE_ASSIGN(more, ReadMore());
      }
    }
    if (!more && state_ == State::kArray) {
      state_ = State::kDone;
      is_open_list_ = is_list_;
      if (wanted_) {
        Emit(end_, true, buffer, batch);
      } else {
        Drop(end_);
      }
      gaps_.push_back({frame_.size(), left_out_bytes_});
      return wanted_;
    } else if (!more && begin_ == end_) {
      state_ = State::kDone;
    }
  }
}

TextFile JsonStream::TakeFrame() && {
  const std::size_t size = frame_.size();
  frame_.append(TextFile::kPadding, '\0');
  return TextFile::FromParts(source_.path(), std::move(frame_), size, std::move(gaps_));
}

namespace {

struct Work {
  std::uint64_t number = 0;  // of the batch, in file order
  JsonBatch batch;
  std::function<void()> commit;
  std::optional<Error> structure_error, element_error;
};

class Pipeline {
 public:
  Pipeline(TextSource& source, std::string_view array_key, std::string_view kept_array,
           bool list_too, const BatchReader& read)
      : stream_(source, array_key, kept_array, list_too),
        read_(read),
        slots_(2 * static_cast<std::size_t>(OwnCores()) + 1) {}

  void Run() {
    RunOrderedPipeline(slots_.size(), {[this](std::size_t slot) { return Next(slots_[slot]); },
                                       [this](std::size_t slot) { Parse(slots_[slot]); },
                                       [this](std::size_t slot) { Finish(slots_[slot]); }});
  }

  Result<JsonFrame> Take(std::string_view array_key) && {
    if (file_error_) {
      return tl::unexpected<Error>(std::move(*file_error_));
    }
    JsonFrame frame;
    const bool list = stream_.IsList();
    frame.open_list = stream_.IsOpenList();
    frame.file = std::move(stream_).TakeFrame();
    std::size_t error_at = 0;
    auto json = list ? SplitList(frame.file, frame.open_list, &error_at)
                     : SplitObject(frame.file, array_key, &error_at);
    if (structure_error_ && (json || error_at > structure_error_at_)) {
      return tl::unexpected<Error>(std::move(*structure_error_));
    }
    if (!json) {
      return tl::unexpected<Error>(std::move(json.error()));
    }
    frame.json = std::move(*json);
    frame.element_error = std::move(element_error_);
    return frame;
  }

 private:
  bool Next(Work& work) {
    work.number = batches_++;
    auto more = stream_.Next(std::move(work.batch.text).TakeBuffer(), work.batch);
    if (!more) {
      file_error_ = std::move(more.error());
    }
    return more && *more;
  }

  void Parse(Work& work) {
    // Batches before one that failed may hold an earlier error.
    if (work.number < first_failed_) {
      auto commit = read_(work.batch, parsers_.Mine());
      if (commit) {
        work.commit = std::move(*commit);
        return;
      }
      std::uint64_t first = first_failed_;
      while (work.number < first && !first_failed_.compare_exchange_weak(first, work.number)) {
      }
      work.element_error = std::move(commit.error());
    }
    // Only errors of structure count from here on, and they do wherever they are.
    if (auto elements = SplitElements(work.batch.text, !work.batch.last); !elements) {
      work.structure_error = std::move(elements.error());
    }
  }

  // In file order: the first error stays.
  void Finish(Work& work) {
    if (work.commit && !element_error_) {
      work.commit();
    }
    if (work.structure_error && !structure_error_) {
      structure_error_ = std::move(work.structure_error);
      structure_error_at_ = work.batch.text.OffsetOf(std::size_t{0});
    }
    if (work.element_error && !element_error_) {
      element_error_ = std::move(work.element_error);
    }
    work.structure_error.reset();
    work.element_error.reset();
    work.commit = nullptr;
  }

  JsonStream stream_;
  const BatchReader& read_;
  PerThread<simdjson::dom::parser> parsers_;
  std::vector<Work> slots_;
  std::uint64_t batches_ = 0;
  std::atomic<std::uint64_t> first_failed_ = std::numeric_limits<std::uint64_t>::max();
  std::optional<Error> file_error_, structure_error_, element_error_;
  std::size_t structure_error_at_ = 0;  // the batch's first byte
};

}  // namespace

Result<JsonFrame> StreamObject(TextSource& source, std::string_view array_key,
                               const BatchReader& read, std::string_view kept_array,
                               bool list_too) {
  Pipeline pipeline(source, array_key, kept_array, list_too, read);
  pipeline.Run();
  return std::move(pipeline).Take(array_key);
}

}  // namespace reprise
