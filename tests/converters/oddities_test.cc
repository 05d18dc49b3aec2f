// What real host traces and Kineto files do that a reader would not expect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/comm_arguments.h"
#include "synthetic_capture.h"
#include "text_in_memory.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;

LoadedTrace ConvertOne(const std::string& name, const SyntheticCapture& capture) {
  auto traces = ConvertAll(name, {capture});
  EXPECT_TRUE(traces) << (traces ? "" : traces.error().message);
  return traces ? traces->front() : LoadedTrace{};
}

SyntheticOp Mul(double start_us, double duration_us, int storage = 4) {
  return {.name = "aten::mul_",
          .start_us = start_us,
          .duration_us = duration_us,
          .inputs = {TensorArg(storage, {8}), DoubleArg(2)},
          .outputs = {TensorArg(storage, {8})}};
}

// Oddities 1 and 2: ctrl_deps is a caller, and after asynchronous work a wrong one.
TEST(Oddities, NestingFollowsKinetoNotTheHostTracesCaller) {
  SyntheticCapture capture;
  capture.Step(0, 500);
  capture.Add({.name = "aten::linear", .start_us = 10, .duration_us = 100, .caller = 2});
  SyntheticOp inside = Mul(20, 30);
  inside.caller = 2;  // says: not in linear
  capture.Add(inside);
  SyntheticOp outside = Mul(200, 30);
  outside.caller = 5;  // says: in linear
  capture.Add(outside);
  const LoadedTrace trace = ConvertOne("nesting", capture);
  ASSERT_THAT(trace.Find("aten::mul_", 1), NotNull());
  EXPECT_EQ(trace.Find("aten::mul_", 0)->parent, "aten::linear");
  EXPECT_EQ(trace.Find("aten::mul_", 1)->parent, "ProfilerStep#3");
  EXPECT_THAT(trace.Find("aten::linear"), IsNull()) << "composites leave no node";
}

// Autocast's own operator converts its arguments and calls itself again, which computes.
TEST(Oddities, TheCallOfAutocastIsAFrameAroundTheOneThatComputes) {
  const auto product = [](const std::string& dtype, int storage, double start_us, double us) {
    return SyntheticOp{.name = "aten::mm",
                       .start_us = start_us,
                       .duration_us = us,
                       .inputs = {TensorArg(storage, {8, 8}, dtype), TensorArg(9, {8, 8}, dtype)},
                       .outputs = {TensorArg(12, {8, 8}, "c10::BFloat16")}};
  };
  SyntheticCapture capture;
  capture.Step(0, 200);
  capture.Add(product("float", 4, 10, 100));
  capture.Add(
      {.name = "aten::copy_",
       .start_us = 20,
       .duration_us = 10,
       .inputs = {TensorArg(5, {8, 8}, "c10::BFloat16"), TensorArg(4, {8, 8}), BoolArg(false)},
       .outputs = {TensorArg(5, {8, 8}, "c10::BFloat16")}});
  capture.Add(product("c10::BFloat16", 5, 40, 60));
  // Called again with the same types, it is one operation.
  capture.Add(product("float", 4, 120, 50));
  capture.Add(product("float", 4, 130, 30));
  const LoadedTrace trace = ConvertOne("autocast", capture);
  EXPECT_THAT(trace.Find("aten::copy_"), NotNull());
  ASSERT_THAT(trace.Find("aten::mm", 1), NotNull());
  EXPECT_THAT(trace.Find("aten::mm", 2), IsNull());
  EXPECT_EQ(trace.Find("aten::mm", 0)->parent, "aten::mm");
  EXPECT_EQ(trace.Find("aten::mm", 1)->parent, "ProfilerStep#3");
}

// Oddity 4: values.
TEST(Oddities, ValuesOfEveryKind) {
  SyntheticCapture capture;
  capture.Step(0, 100);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Arg infinite = DoubleArg(0);
  infinite.value = "-inf";
  capture.Add({.name = "aten::add",
               .start_us = 10,
               .duration_us = 20,
               .inputs = {TensorArg(4, {2, 3}, "c10::BFloat16", 7),
                          UndefinedArg(),
                          LiteralArg("None"),
                          LiteralArg("Object"),
                          LiteralArg("Generator"),
                          LiteralArg("Storage"),
                          IntArg(-100),
                          IntArg(most),
                          BoolArg(true),
                          DoubleArg(0.5),
                          {.value = "none", .type = "String"},
                          {.value = "cpu", .type = "Device"},
                          ListArg({ListArg({TensorArg(5, {1}), TensorArg(6, {1}, "long int")}),
                                   ListArg({})}),
                          ListArg({IntArg(1), IntArg(-2)}),
                          infinite},
               .outputs = {TensorArg(8, {2, 3}, "c10::BFloat16")}});
  const LoadedTrace trace = ConvertOne("values", capture);
  const Node* node = trace.Find("aten::add");
  ASSERT_THAT(node, NotNull());
  ASSERT_EQ(node->inputs.size(), 15U);
  const TensorDesc* tensor = node->inputs[0].AsTensor();
  ASSERT_THAT(tensor, NotNull());
  EXPECT_EQ(tensor->dtype, DType::kBFloat16);
  EXPECT_EQ(tensor->offset, 7);
  EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
  EXPECT_THAT(tensor->strides, ElementsAre(3, 1));
  ASSERT_THAT(node->inputs[1].AsTensor(), NotNull());
  EXPECT_FALSE(node->inputs[1].AsTensor()->IsDefined());
  for (const std::size_t i : {2U, 3U, 4U, 5U}) {
    EXPECT_TRUE(node->inputs[i].IsNone()) << i;
  }
  EXPECT_EQ(node->inputs[6].AsNumber<std::int64_t>(0), -100);
  EXPECT_EQ(node->inputs[7].AsNumber<std::int64_t>(0), most);
  EXPECT_EQ(node->inputs[8].data, Value{true}.data);
  EXPECT_EQ(node->inputs[9].AsNumber<double>(0), 0.5);
  EXPECT_EQ(*node->inputs[10].AsString(), "none");
  EXPECT_EQ(*node->inputs[11].AsString(), "cpu");
  const ValueList& lists = *node->inputs[12].AsList();
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ((*lists[0].AsList())[1].AsTensor()->dtype, DType::kInt64);
  EXPECT_TRUE(lists[1].AsList()->empty());
  EXPECT_EQ((*node->inputs[13].AsList())[1].AsNumber<std::int64_t>(0), -2);
  EXPECT_EQ(node->inputs[14].AsNumber<double>(0), -std::numeric_limits<double>::infinity());
}

TEST(Oddities, NumbersThatJsonDoesNotHave) {
  SyntheticCapture capture;
  capture.Step(0, 100);
  SyntheticOp op = Mul(10, 20);
  op.inputs[1] = DoubleArg(12345.5);
  capture.Add(op);
  const std::string root = FreshDirectory("nan");
  std::string host = capture.HostText();
  host.replace(host.find("12345.5"), 7, "-inf");
  std::string kineto = capture.KinetoText();
  kineto.replace(kineto.find("\"External id\":77"), 16, "\"External id\":NaN");
  Diagnostics diagnostics;
  const auto trace = ReadHostText("host", host, diagnostics);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(diagnostics.CountOf("non_json_number"), 1U);
  EXPECT_TRUE(ReadKinetoText("kineto", kineto, diagnostics));
}

// Oddity 4: storage ids are reused after free.
TEST(Oddities, StorageIncarnations) {
  SyntheticCapture capture;
  capture.Step(0, 1000);
  const auto empty = [&](double at, int storage) {
    capture.Add({.name = "aten::empty",
                 .start_us = at,
                 .duration_us = 5,
                 .inputs = {ListArg({IntArg(8)})},
                 .outputs = {TensorArg(storage, {8})}});
  };
  capture.Add(Mul(10, 5, 4));  // older than the trace
  empty(20, 7);
  capture.Add(Mul(30, 5, 7));
  empty(40, 7);  // freed and allocated again: another incarnation
  capture.Add(Mul(50, 5, 7));
  // A view keeps it, even as another type; a composite passes on what its child allocated.
  capture.Add({.name = "aten::view",
               .start_us = 60,
               .duration_us = 5,
               .inputs = {TensorArg(7, {8})},
               .outputs = {TensorArg(7, {32}, "unsigned char")}});
  capture.Add({.name = "aten::clone",
               .start_us = 70,
               .duration_us = 50,
               .inputs = {TensorArg(7, {8})},
               .outputs = {TensorArg(9, {8})}});
  empty(75, 9);
  capture.Add({.name = "aten::copy_",
               .start_us = 85,
               .duration_us = 10,
               .inputs = {TensorArg(9, {8}), TensorArg(7, {8})},
               .outputs = {TensorArg(9, {8})}});
  // mm allocates without showing it, and its children see the result before.
  capture.Add({.name = "aten::mm",
               .start_us = 200,
               .duration_us = 50,
               .inputs = {TensorArg(4, {8})},
               .outputs = {TensorArg(7, {8})}});
  capture.Add({.name = "aten::resolve_conj",
               .start_us = 210,
               .duration_us = 5,
               .inputs = {TensorArg(7, {8})},
               .outputs = {TensorArg(7, {8})}});
  // Another type without any allocation to be seen: a wrapped Python number.
  capture.Add({.name = "aten::mul_",
               .start_us = 300,
               .duration_us = 5,
               .inputs = {TensorArg(9, {8}), TensorArg(4, {}, "double")},
               .outputs = {TensorArg(9, {8})}});
  // The same type, in memory that a result of mm has left.
  capture.Add({.name = "aten::mul_",
               .start_us = 310,
               .duration_us = 5,
               .inputs = {TensorArg(9, {8}), TensorArg(7, {})},
               .outputs = {TensorArg(9, {8})}});
  const LoadedTrace trace = ConvertOne("incarnations", capture);
  const auto in = [&](const std::string& name, std::size_t nth, std::size_t i = 0) {
    const Node* node = trace.Find(name, nth);
    return node == nullptr ? -2 : node->inputs[i].AsTensor()->incarnation;
  };
  const auto out = [&](const std::string& name, std::size_t nth) {
    const Node* node = trace.Find(name, nth);
    return node == nullptr ? -2 : node->outputs[0].AsTensor()->incarnation;
  };
  EXPECT_EQ(out("aten::empty", 0), in("aten::mul_", 1));
  EXPECT_NE(out("aten::empty", 0), out("aten::empty", 1));
  EXPECT_EQ(out("aten::empty", 1), in("aten::mul_", 2));
  EXPECT_EQ(out("aten::view", 0), out("aten::empty", 1));
  EXPECT_EQ(in("aten::copy_", 0, 0), out("aten::empty", 2));
  EXPECT_EQ(in("aten::copy_", 0, 1), out("aten::empty", 1));
  EXPECT_NE(out("aten::mm", 0), out("aten::empty", 1)) << "mm made a new one";
  EXPECT_EQ(in("aten::mm", 0), in("aten::mul_", 0));
  EXPECT_NE(in("aten::mul_", 3, 1), in("aten::mul_", 0)) << "double, not float";
  EXPECT_NE(in("aten::mul_", 4, 1), out("aten::mm", 0)) << "a number is no result of mm";
  EXPECT_EQ(trace.Diagnostic("storage_contradiction"), 1U);
  EXPECT_EQ(trace.Diagnostic("storage_id_reused"), 3U);
}

// Oddity 5: names with "::" are not always operators, and schemas may be empty.
TEST(Oddities, UnknownNames) {
  SyntheticCapture capture;
  capture.Step(0, 1000);
  const auto add = [&](const std::string& name, double at, const std::string& schema, int scope,
                       const std::string& category) {
    capture.Add({.name = name,
                 .start_us = at,
                 .duration_us = 20,
                 .inputs = {TensorArg(4, {8})},
                 .outputs = {TensorArg(5, {8})},
                 .schema = schema,
                 .category = category,
                 .scope = scope});
  };
  add("flash::forward", 10, "flash::forward(Tensor q) -> Tensor", 0, "cpu_op");
  add("MyLib::note", 50, "", 7, "user_annotation");
  add("MyFunctionBackward", 90, "", 1, "cpu_op");
  add("mylib::frame", 130, "mylib::frame(Tensor x) -> Tensor", 0, "cpu_op");
  capture.Add(Mul(135, 5));
  const LoadedTrace trace = ConvertOne("unknown", capture);
  ASSERT_THAT(trace.Find("flash::forward"), NotNull());
  EXPECT_EQ(trace.Find("flash::forward")->kind, OpKind::kWork);
  EXPECT_THAT(trace.Find("MyLib::note"), IsNull());
  EXPECT_THAT(trace.Find("MyFunctionBackward"), IsNull());
  EXPECT_THAT(trace.Find("mylib::frame"), IsNull());
  EXPECT_EQ(trace.Find("aten::mul_")->parent, "mylib::frame");
  EXPECT_EQ(trace.Diagnostic("unknown_operator"), 2U);
}

// Oddity 6: backward belongs to the forward operation with its sequence number, on its thread.
TEST(Oddities, BackwardOnAThreadOfItsOwn) {
  SyntheticCapture capture;
  capture.Step(0, 1000);
  SyntheticOp forward = Mul(10, 20);
  forward.seq_id = 41;
  capture.Add(forward);
  capture.Add(Mul(40, 20, 5));
  capture.Add({.name = "MulBackward0",
               .start_us = 100,
               .duration_us = 50,
               .tid = 101,
               .schema = "",
               .scope = 1,
               .host_thread = 2,
               .seq_id = 41,
               .forward_thread = 1});
  SyntheticOp backward = Mul(110, 20, 6);
  backward.name = "aten::mul";
  backward.tid = 101;
  backward.host_thread = 2;
  capture.Add(backward);
  const LoadedTrace trace = ConvertOne("backward", capture);
  const Node* from = trace.Find("aten::mul_", 0);
  const Node* to = trace.Find("aten::mul", 0);
  ASSERT_THAT(from, NotNull());
  ASSERT_THAT(to, NotNull());
  EXPECT_EQ(trace.Edge(*from, *to), EdgeReason::kFwdBwd);
  EXPECT_EQ(to->actor.id, 2);
  EXPECT_EQ(to->delay_ns, to->start_ns - from->start_ns - from->duration_ns);
}

// Oddity 10: microseconds with a fraction, on a base of nanoseconds.
TEST(Oddities, TimesKeepTheirNanoseconds) {
  SyntheticCapture capture;
  capture.Step(4370094527459.362, 1000.5);
  capture.Add(Mul(4370094527500.123, 20.456));
  const LoadedTrace trace = ConvertOne("times", capture);
  EXPECT_EQ(trace.metadata.base_ns, SyntheticCapture::kBaseNs + 4370094527459362);
  ASSERT_EQ(trace.metadata.steps.size(), 1U);
  EXPECT_EQ(trace.metadata.steps[0].duration_ns, 1000500);
  const Node* node = trace.Find("aten::mul_");
  ASSERT_THAT(node, NotNull());
  EXPECT_EQ(node->start_ns, 40761);
  EXPECT_EQ(node->duration_ns, 20456);
  const Node* end = trace.Find("ProfilerStep#3");
  ASSERT_THAT(end, NotNull());
  EXPECT_EQ(end->start_ns, 1000500);
  EXPECT_EQ(end->delay_ns, 1000500 - 40761 - 20456);
}

// A DTensor's operation goes to Python and comes back on plain tensors: those are the work.
TEST(Oddities, TensorSubclassesAreFrames) {
  SyntheticCapture capture;
  capture.Step(0, 1000);
  SyntheticOp outer = Mul(10, 200, 77);
  capture.Add(outer);
  capture.Add({.name = "PythonSubclass",
               .start_us = 20,
               .duration_us = 180,
               .inputs = outer.inputs,
               .schema = ""});
  capture.Add(Mul(50, 30, 5));
  const LoadedTrace trace = ConvertOne("subclass", capture);
  ASSERT_THAT(trace.Find("aten::mul_"), NotNull());
  EXPECT_EQ(trace.Find("aten::mul_")->duration_ns, 30'000);
  EXPECT_THAT(trace.Find("aten::mul_", 1), IsNull());
}

TEST(Oddities, WorkSwallowsWhatItCalls) {
  SyntheticCapture capture;
  capture.Step(0, 1000);
  capture.Add(Mul(10, 100));
  capture.Add({.name = "aten::to", .start_us = 12, .duration_us = 50});
  capture.Add({.name = "aten::copy_", .start_us = 15, .duration_us = 20});
  const LoadedTrace trace = ConvertOne("swallow", capture);
  EXPECT_EQ(trace.nodes.size(), 2U);
  EXPECT_EQ(trace.Find("aten::mul_")->duration_ns, 100'000);
}

// _convolution is a frame around the operator that convolves; on a CPU it is oneDNN's caller itself
// where it is transposed, and what it calls merely copies.
TEST(Oddities, TransposedConvolutionsWithoutAnOperatorBelow) {
  SyntheticCapture capture;
  capture.Step(0, 500);
  const auto call = [&](double start_us, bool transposed, const std::string& inside) {
    capture.Add(
        {.name = "aten::_convolution",
         .start_us = start_us,
         .duration_us = 90,
         .inputs = {TensorArg(4, {1, 2, 3, 3}), TensorArg(5, {2, 2, 1, 1}), LiteralArg("None"),
                    ListArg({IntArg(1), IntArg(1)}), ListArg({IntArg(0), IntArg(0)}),
                    ListArg({IntArg(1), IntArg(1)}), BoolArg(transposed)},
         .outputs = {TensorArg(6, {1, 2, 3, 3})}});
    capture.Add({.name = inside,
                 .start_us = start_us + 10,
                 .duration_us = 20,
                 .inputs = {TensorArg(6, {1, 2, 3, 3}), TensorArg(4, {1, 2, 3, 3})},
                 .outputs = {TensorArg(6, {1, 2, 3, 3})}});
  };
  call(10, true, "aten::copy_");
  call(110, false, "aten::mkldnn_convolution");
  call(210, true, "aten::slow_conv_transpose2d");
  const LoadedTrace trace = ConvertOne("transposed", capture);
  ASSERT_THAT(trace.Find("aten::_convolution"), NotNull());
  EXPECT_THAT(trace.Find("aten::_convolution", 1), IsNull());
  EXPECT_THAT(trace.Find("aten::copy_"), IsNull()) << "part of the work that it is called by";
  EXPECT_THAT(trace.Find("aten::mkldnn_convolution"), NotNull());
  EXPECT_THAT(trace.Find("aten::slow_conv_transpose2d"), NotNull());
}

TEST(Oddities, ParameterNames) {
  constexpr std::string_view kSchema =
      "c10d::send(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, int "
      "dst, int tag) -> __torch__.torch.classes.c10d.Work";
  EXPECT_EQ(ParameterIndex(kSchema, "tensors"), 0);
  EXPECT_EQ(ParameterIndex(kSchema, "dst"), 2);
  EXPECT_EQ(ParameterIndex(kSchema, "tag"), 3);
  EXPECT_EQ(ParameterIndex(kSchema, "src"), -1);
  constexpr std::string_view kStar = "aten::empty(SymInt[] size, *, ScalarType? dtype=None) -> T";
  EXPECT_EQ(ParameterIndex(kStar, "dtype"), 1);
  EXPECT_EQ(ParameterIndex("", "dtype"), -1);
}

}  // namespace
}  // namespace reprise::pytorch
