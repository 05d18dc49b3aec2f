// oneDNN. The host backend opens it when it is opened itself: loading takes 3 MB and a millisecond,
// which most commands need not spend. Include this instead of dnnl.hpp.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "core/result.h"

namespace reprise {

// Call this before any other function of oneDNN. Environment error if it is not installed.
// Thread-safe.
[[nodiscard]] Status OpenOneDnn();

// Threads that the calling thread's next calls use, at most; 0: one for each core.
void SetOneDnnThreads(int threads);

// Throws std::bad_alloc where the address space is limited (ulimit -v) and nearly used up: code
// that oneDNN cannot place then makes it crash. Called before code is generated. Thread-safe.
void RequireSpaceForCode();

// A function of the library or of its dependencies; null if there is none of that name.
[[nodiscard]] void* FindInOneDnn(const char* name);

}  // namespace reprise

#define REPRISE_ONEDNN(function)                                                   \
  ([] {                                                                            \
    static auto* const found =                                                     \
        reinterpret_cast<decltype(&function)>(::reprise::FindInOneDnn(#function)); \
    return found;                                                                  \
  }())

// The functions that dnnl.hpp of 2.x and of 3.x calls; the linker names one that is missing here.
// clang-format off
#define dnnl_convolution_backward_data_primitive_desc_create REPRISE_ONEDNN(dnnl_convolution_backward_data_primitive_desc_create)
#define dnnl_convolution_backward_weights_primitive_desc_create REPRISE_ONEDNN(dnnl_convolution_backward_weights_primitive_desc_create)
#define dnnl_convolution_forward_primitive_desc_create REPRISE_ONEDNN(dnnl_convolution_forward_primitive_desc_create)
#define dnnl_dilated_convolution_backward_data_desc_init REPRISE_ONEDNN(dnnl_dilated_convolution_backward_data_desc_init)
#define dnnl_dilated_convolution_backward_weights_desc_init REPRISE_ONEDNN(dnnl_dilated_convolution_backward_weights_desc_init)
#define dnnl_dilated_convolution_forward_desc_init REPRISE_ONEDNN(dnnl_dilated_convolution_forward_desc_init)
#define dnnl_engine_create REPRISE_ONEDNN(dnnl_engine_create)
#define dnnl_engine_destroy REPRISE_ONEDNN(dnnl_engine_destroy)
#define dnnl_memory_create REPRISE_ONEDNN(dnnl_memory_create)
#define dnnl_memory_create_v2 REPRISE_ONEDNN(dnnl_memory_create_v2)
#define dnnl_memory_desc_clone REPRISE_ONEDNN(dnnl_memory_desc_clone)
#define dnnl_memory_desc_create_with_strides REPRISE_ONEDNN(dnnl_memory_desc_create_with_strides)
#define dnnl_memory_desc_create_with_tag REPRISE_ONEDNN(dnnl_memory_desc_create_with_tag)
#define dnnl_memory_desc_destroy REPRISE_ONEDNN(dnnl_memory_desc_destroy)
#define dnnl_memory_desc_equal REPRISE_ONEDNN(dnnl_memory_desc_equal)
#define dnnl_memory_desc_init_by_strides REPRISE_ONEDNN(dnnl_memory_desc_init_by_strides)
#define dnnl_memory_desc_init_by_tag REPRISE_ONEDNN(dnnl_memory_desc_init_by_tag)
#define dnnl_memory_desc_query REPRISE_ONEDNN(dnnl_memory_desc_query)
#define dnnl_memory_desc_query_v2 REPRISE_ONEDNN(dnnl_memory_desc_query_v2)
#define dnnl_memory_destroy REPRISE_ONEDNN(dnnl_memory_destroy)
#define dnnl_memory_get_data_handle REPRISE_ONEDNN(dnnl_memory_get_data_handle)
#define dnnl_memory_get_data_handle_v2 REPRISE_ONEDNN(dnnl_memory_get_data_handle_v2)
#define dnnl_memory_get_engine REPRISE_ONEDNN(dnnl_memory_get_engine)
#define dnnl_memory_get_memory_desc REPRISE_ONEDNN(dnnl_memory_get_memory_desc)
#define dnnl_primitive_attr_create REPRISE_ONEDNN(dnnl_primitive_attr_create)
#define dnnl_primitive_attr_destroy REPRISE_ONEDNN(dnnl_primitive_attr_destroy)
#define dnnl_primitive_create (::reprise::RequireSpaceForCode(), REPRISE_ONEDNN(dnnl_primitive_create))
#define dnnl_primitive_desc_destroy REPRISE_ONEDNN(dnnl_primitive_desc_destroy)
#define dnnl_primitive_desc_iterator_create REPRISE_ONEDNN(dnnl_primitive_desc_iterator_create)
#define dnnl_primitive_desc_iterator_destroy REPRISE_ONEDNN(dnnl_primitive_desc_iterator_destroy)
#define dnnl_primitive_desc_iterator_fetch REPRISE_ONEDNN(dnnl_primitive_desc_iterator_fetch)
#define dnnl_primitive_desc_next_impl REPRISE_ONEDNN(dnnl_primitive_desc_next_impl)
#define dnnl_primitive_desc_query_md REPRISE_ONEDNN(dnnl_primitive_desc_query_md)
#define dnnl_primitive_destroy REPRISE_ONEDNN(dnnl_primitive_destroy)
#define dnnl_primitive_execute REPRISE_ONEDNN(dnnl_primitive_execute)
#define dnnl_reorder_primitive_desc_create REPRISE_ONEDNN(dnnl_reorder_primitive_desc_create)
#define dnnl_sgemm (::reprise::RequireSpaceForCode(), REPRISE_ONEDNN(dnnl_sgemm))
#define dnnl_stream_create REPRISE_ONEDNN(dnnl_stream_create)
#define dnnl_stream_destroy REPRISE_ONEDNN(dnnl_stream_destroy)
// clang-format on

#include <oneapi/dnnl/dnnl.hpp>

namespace reprise {

// The primitive descriptors of a convolution: 3.0 removed the descriptors of operations, and takes
// the engine first. `arguments` are the same in 2.x and 3.x.
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc DescribeForward(const dnnl::engine& engine,
                                                   const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, arguments...);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine);
#endif
}
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc DescribeBackward(
    const dnnl::engine& engine, const dnnl::convolution_forward::primitive_desc& forward,
    const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, arguments..., forward);
#else
  return
      typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine, forward);
#endif
}

}  // namespace reprise
