; What the runtime needs of Windows.  There are no workers: every range runs on its caller.

declare ptr @_aligned_malloc(i64, i64)
declare void @_aligned_free(ptr)

define internal ptr @system_alloc(i64 %size) nounwind {
  %memory = call ptr @_aligned_malloc(i64 %size, i64 64)
  ret ptr %memory
}

define internal void @system_free(ptr %memory) nounwind {
  call void @_aligned_free(ptr %memory)
  ret void
}

define internal void @give_core() nounwind {
  ret void
}

define internal void @wait(ptr %word, i32 %value, i32 %mask) nounwind {
  ret void
}

define internal void @wake(ptr %word, i32 %mask) nounwind {
  ret void
}

define internal void @enlist(i64 %id, i1 %here) nounwind {
  ret void
}

define internal void @keep_off(i64 %n) nounwind {
  ret void
}

define internal i32 @spawn(ptr %handle, ptr %start, ptr %argument) nounwind {
  ret i32 1
}

define internal void @await(ptr %handle) nounwind {
  ret void
}

define void @platform_reset() nounwind {
  ret void
}
