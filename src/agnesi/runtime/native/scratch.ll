; Memory that kernels work in for the length of a call, beyond the little that they keep on the stack.
;
; Every thread keeps the blocks that it has used, so that no call page-faults twice, none waits for
; another thread, and what a kernel wrote stays in its core's caches.  A block is a 64-byte header
; and, right after it, 64-byte aligned data.  The first block of the list that is too small gives
; way to a larger one, so a thread soon has one for each kernel that runs inside of another.

%Block = type {ptr, i64}                      ; the next one that is free, bytes of this one

@scratch_lacks = internal global i64 0        ; how often there was no memory

; Memory of this thread, not initialised; null when there is none.
define ptr @scratch_take(i64 %size) nounwind {
entry:
  %first = call ptr @own()
  %none = icmp eq ptr %first, null
  br i1 %none, label %fresh, label %look
look:
  %next = load ptr, ptr %first
  %same = call i1 @keep_own(ptr %next)
  %bytes.at = getelementptr %Block, ptr %first, i64 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %fits = icmp ule i64 %size, %bytes
  br i1 %fits, label %found, label %small
found:
  %data = getelementptr i8, ptr %first, i64 64
  ret ptr %data
small:
  call void @system_free(ptr %first)
  br label %fresh
fresh:
  ; What is not touched costs nothing.
  %up = add i64 %size, 262143
  %room = and i64 %up, -262144
  %with = add i64 %room, 64
  %try = call ptr @system_alloc(i64 %with)
  %short = icmp eq ptr %try, null
  br i1 %short, label %collect, label %made
collect:
  call void @pool_trim()
  %again = call ptr @system_alloc(i64 %with)
  %failed = icmp eq ptr %again, null
  br i1 %failed, label %nothing, label %made
made:
  %block = phi ptr [%try, %fresh], [%again, %collect]
  %room.at = getelementptr %Block, ptr %block, i64 0, i32 1
  store i64 %room, ptr %room.at
  %new = getelementptr i8, ptr %block, i64 64
  ret ptr %new
nothing:
  store i64 %size, ptr @refused
  %lacks = atomicrmw add ptr @scratch_lacks, i64 1 seq_cst
  ret ptr null
}

define void @scratch_give(ptr %data) nounwind {
entry:
  %block = getelementptr i8, ptr %data, i64 -64
  %first = call ptr @own()
  store ptr %first, ptr %block
  %kept = call i1 @keep_own(ptr %block)
  br i1 %kept, label %done, label %drop
drop:
  call void @system_free(ptr %block)
  br label %done
done:
  ret void
}

; At a thread's end: give its blocks back to the system.
define internal void @scratch_end(ptr %first) nounwind {
entry:
  br label %test
test:
  %block = phi ptr [%first, %entry], [%next, %drop]
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %drop
drop:
  %next = load ptr, ptr %block
  call void @system_free(ptr %block)
  br label %test
done:
  ret void
}
