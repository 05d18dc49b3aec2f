// Reads a JSON object with one huge array in bounded memory: elements come in batches that are
// parsed in parallel while the file is read, what is around the array is kept. Files may exceed
// 4 GiB.
#pragma once

#include <simdjson.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/json_scan.h"
#include "converters/json_split.h"
#include "converters/text_file.h"
#include "converters/text_source.h"
#include "core/result.h"

namespace reprise {

// Elements in a row as an array of their own.
struct JsonBatch {
  TextFile text;
  bool last = false;  // of its array
};

// Cuts a text into batches.
class JsonStream {
 public:
  JsonStream(TextSource& source, std::string_view array_key, std::string_view kept_array,
             bool list_too = false);

  // The next batch, in file order. `buffer` is used again if it is of any size. False: no more.
  Result<bool> Next(std::string buffer, JsonBatch& batch);
  // Afterwards: the text with nothing between the brackets of the object's arrays, but for the kept
  // one.
  [[nodiscard]] TextFile TakeFrame() &&;
  // The text is the array alone, without an object around it; and it ends without ']'.
  [[nodiscard]] bool IsList() const { return is_list_; }
  [[nodiscard]] bool IsOpenList() const { return is_open_list_; }

 private:
  enum class State { kFrame, kArray, kDone };

  Result<bool> ReadMore();  // false: the text ended
  Status ReadFrame();
  void ReadFrameByte(char c);
  bool CutArray(bool ended, std::string& buffer, JsonBatch& batch);
  void Emit(std::size_t end, bool last, std::string& buffer, JsonBatch& batch);
  void Drop(std::size_t until);

  TextSource& source_;
  std::string array_key_, kept_array_;
  bool list_too_ = false, is_list_ = false, is_open_list_ = false;
  State state_ = State::kFrame;
  // chunk_[begin_, end_) is what was read and not yet used; the byte before it is ours.
  std::string chunk_;
  std::size_t begin_ = 1, end_ = 1;
  std::size_t at_byte_ = 0;  // of begin_, in the file

  std::string frame_;
  std::vector<TextFile::Gap> gaps_;
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false, after_colon_ = false, object_ended_ = false;
  std::size_t key_begin_ = 0, key_end_ = 0;  // the last string at depth 1

  ArrayScanner scanner_;
  std::size_t scanned_ = 0;  // of what follows begin_
  std::size_t left_out_bytes_ = 0;
  bool wanted_ = false;  // this array is the one
};

// Where elements of a batch are; looked up when first asked.
class ElementPlaces {
 public:
  // `parser` has parsed the whole batch, and nothing since; or nullptr.
  ElementPlaces(const JsonBatch& batch, const simdjson::dom::parser* parser)
      : batch_(batch), parser_(parser) {}
  // Byte offset of an element in the file.
  std::size_t AtByte(std::size_t index);
  // As it stands in the file; empty where the batch is damaged.
  std::string_view Text(std::size_t index);

 private:
  void FindByStructure();

  const JsonBatch& batch_;
  const simdjson::dom::parser* parser_;
  std::vector<std::string_view> elements_;
};

// Of one element: its index in the batch, and whether numbers that are none became null.
using ElementVisitor = std::function<Status(simdjson::dom::element root, std::size_t index,
                                            ElementPlaces& places, bool patched)>;
[[nodiscard]] Status VisitElements(const JsonBatch& batch, simdjson::dom::parser& parser,
                                   const ElementVisitor& visit);

struct JsonFrame {
  TextFile file;
  SplitJson json;  // without elements; members that are arrays are empty, but for the kept one
  // The first error in an element of a file whose structure is sound.
  std::optional<Error> element_error;
  bool open_list = false;  // a list without an object around it, and without its ']'
};

// Reads a batch, on any thread; what it returns is called in file order, by one thread at a time.
using BatchReader =
    std::function<Result<std::function<void()>>(const JsonBatch&, simdjson::dom::parser&)>;

// Errors of the file and of its structure are returned before those in elements. `kept_array`: a
// small array, which is part of the frame. `list_too`: the file may be the array alone, and its ']'
// may be missing, as in Chrome's list of events.
[[nodiscard]] Result<JsonFrame> StreamObject(TextSource& source, std::string_view array_key,
                                             const BatchReader& read,
                                             std::string_view kept_array = {},
                                             bool list_too = false);

}  // namespace reprise
