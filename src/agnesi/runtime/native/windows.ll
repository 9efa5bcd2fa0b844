; What the runtime needs of Windows.  There are no workers: every range runs on its caller.

declare ptr @_aligned_malloc(i64, i64)
declare void @_aligned_free(ptr)
declare i32 @FlsAlloc(ptr)
declare ptr @FlsGetValue(i32)
declare i32 @FlsSetValue(i32, ptr)

define internal ptr @system_alloc(i64 %size) nounwind {
  %memory = call ptr @_aligned_malloc(i64 %size, i64 64)
  ret ptr %memory
}

define internal void @system_free(ptr %memory) nounwind {
  call void @_aligned_free(ptr %memory)
  ret void
}

@own_key = internal global i32 -1             ; where each thread's own pointer is

define void @own_begin() nounwind {
  %key = load i32, ptr @own_key
  %new = icmp eq i32 %key, -1
  br i1 %new, label %make, label %done
make:
  %made = call i32 @FlsAlloc(ptr @scratch_end)
  store i32 %made, ptr @own_key
  br label %done
done:
  ret void
}

; A thread's own pointer: null at first, and where there are no keys left.
define internal ptr @own() nounwind alwaysinline {
  %key = load i32, ptr @own_key
  %found = call ptr @FlsGetValue(i32 %key)
  ret ptr %found
}

; Set it; returns whether that is possible.
define internal i1 @keep_own(ptr %pointer) nounwind alwaysinline {
  %key = load i32, ptr @own_key
  %set = call i32 @FlsSetValue(i32 %key, ptr %pointer)
  %good = icmp ne i32 %set, 0
  ret i1 %good
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

define internal void @note_processor(i64 %id) nounwind {
  ret void
}

define internal void @keep_off(i64 %n, i1 %asleep) nounwind {
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
