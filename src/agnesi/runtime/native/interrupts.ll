; Signals while compiled code runs without the GIL.  Long code calls `poll` now and then; every 10 ms
; Python's main thread takes the GIL back there and lets Python run the handlers of signals.  Where
; one raises, `poll` returns a code, which the body returns at once, and `execute` leaves the error.

@main_thread = global i64 0                   ; Python's number of its main thread
@poll_ticks = global i64 25000000             ; of `ticks` between two looks
@main_state = internal global ptr null        ; how the main thread gets the GIL back, in a body
@next_poll = internal global i64 0
@writing_since = internal global i64 0        ; when its body began to write in place, or 0
@interrupted = internal global i32 0          ; the code of its body that is being left
@task_is_main = internal global i32 0         ; whether the threads work for it
@task_left = internal global i32 0            ; whether they are to leave

; Whether this is the main thread, in a body.
define internal i1 @is_main() nounwind {
entry:
  %state = load ptr, ptr @main_state
  %outside = icmp eq ptr %state, null
  br i1 %outside, label %no, label %compare
compare:
  %ident = call ptr @api_get(i64 28)
  %me = call i64 %ident()
  %main = load i64, ptr @main_thread
  %same = icmp eq i64 %me, %main
  ret i1 %same
no:
  ret i1 false
}

; A task begins: whether it is the main thread's.
define internal void @task_begins() nounwind alwaysinline {
  %main = call i1 @is_main()
  %flag = zext i1 %main to i32
  store atomic i32 0, ptr @task_left monotonic, align 4
  store atomic i32 %flag, ptr @task_is_main monotonic, align 4
  ret void
}

; The main thread's body is about to write in place: from here on it ends the step, if that takes
; less than a second.
define void @writing_begins() nounwind {
entry:
  %main = call i1 @is_main()
  br i1 %main, label %note, label %done
note:
  %now = call i64 @ticks()
  store i64 %now, ptr @writing_since
  br label %done
done:
  ret void
}

; The code by which a function is to return, or 0; %thread is that of a task, 0 for who called.
define i32 @poll(i64 %thread) nounwind {
entry:
  %type = alloca ptr
  %value = alloca ptr
  %traceback = alloca ptr
  %helps = icmp ne i64 %thread, 0
  br i1 %helps, label %helper, label %look
helper:
  %leave = load atomic i32, ptr @task_left monotonic, align 4
  ret i32 %leave
look:
  %now = call i64 @ticks()
  %due = load atomic i64, ptr @next_poll monotonic, align 8
  %ahead = sub i64 %now, %due
  %early = icmp slt i64 %ahead, 0
  %code = load atomic i32, ptr @interrupted monotonic, align 4
  %going = icmp eq i32 %code, 0
  %nothing = and i1 %early, %going
  br i1 %nothing, label %no, label %who
who:
  %main = call i1 @is_main()
  br i1 %main, label %mine, label %no
mine:
  br i1 %going, label %write, label %out
write:
  %ticks = load i64, ptr @poll_ticks
  %next = add i64 %now, %ticks
  store atomic i64 %next, ptr @next_poll monotonic, align 8
  %since = load i64, ptr @writing_since
  %torn = icmp ne i64 %since, 0
  %long = sub i64 %now, %since
  %second = mul i64 %ticks, 100
  %soon = icmp slt i64 %long, %second
  %finish = and i1 %torn, %soon
  br i1 %finish, label %no, label %ask
ask:
  %state = load ptr, ptr @main_state
  %restore = call ptr @api_get(i64 19)
  call void %restore(ptr %state)
  %check = call ptr @api_get(i64 29)
  %result = call i32 %check()
  %raised = icmp ne i32 %result, 0
  %both = and i1 %raised, %torn
  br i1 %both, label %tell, label %resume
tell:                                         ; add a note to the error
  %fetch = call ptr @api_get(i64 30)
  call void %fetch(ptr %type, ptr %value, ptr %traceback) ; three owned references, or nulls
  %normalize = call ptr @api_get(i64 31)
  call void %normalize(ptr %type, ptr %value, ptr %traceback) ; exchanges them for others
  %error = load ptr, ptr %value
  %note = call ptr @api_get(i64 33)
  %call = call ptr @api_get(i64 21)
  %answer = call ptr %call(ptr %note, ptr %error)
  call void @decref(ptr %answer)              ; Py_DecRef takes null
  %t = load ptr, ptr %type
  %v = load ptr, ptr %value
  %tb = load ptr, ptr %traceback
  %set = call ptr @api_get(i64 32)
  call void %set(ptr %t, ptr %v, ptr %tb)     ; steals the three
  br label %resume
resume:
  %save = call ptr @api_get(i64 18)
  %again = call ptr %save()
  store ptr %again, ptr @main_state
  br i1 %raised, label %stop, label %no
stop:
  store atomic i32 {interrupted}, ptr @interrupted monotonic, align 4
  %works = load atomic i32, ptr @task_is_main monotonic, align 4
  store atomic i32 %works, ptr @task_left monotonic, align 4
  br label %out
out:
  ret i32 {interrupted}
no:
  ret i32 0
}

; Let Python run a function that %table describes beside this thread, if it is the main one
; (`runtime/foreign_calls.py`); -1 where the caller is to call it, else the code by which to return, or 0.
define i32 @beside(ptr %table) nounwind {
entry:
  %main = call i1 @is_main()
  br i1 %main, label %look, label %no
look:                                         ; what is being written in place is completed
  %since = load i64, ptr @writing_since
  %whole = icmp eq i64 %since, 0
  br i1 %whole, label %ask, label %no
ask:
  %state = load ptr, ptr @main_state
  %restore = call ptr @api_get(i64 19)
  call void %restore(ptr %state)
  %address = ptrtoint ptr %table to i64
  %make = call ptr @api_get(i64 20)
  %number = call ptr %make(i64 %address)
  %run = call ptr @api_get(i64 36)
  %call = call ptr @api_get(i64 21)
  %answer = call ptr %call(ptr %run, ptr %number)
  call void @decref(ptr %number)
  call void @decref(ptr %answer)              ; Py_DecRef takes null
  %save = call ptr @api_get(i64 18)
  %again = call ptr %save()
  store ptr %again, ptr @main_state
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %stop, label %done
stop:
  store atomic i32 {interrupted}, ptr @interrupted monotonic, align 4
  ret i32 {interrupted}
done:
  ret i32 0
no:
  ret i32 -1
}
